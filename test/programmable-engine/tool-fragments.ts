import type { ToolCall } from './tool-calls.ts';
import { countTokens, offsetOfTokens } from './tokens.ts';

/** A piece of a tool call as it stands in `delta.tool_calls`; quirks may take any field away or bend its value. */
export interface Fragment {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown };
}

/** One chunk's worth of fragments. `call` and `head` are for quirks to go by; they are never sent. */
export interface FragmentChunk {
  readonly fragments: readonly Fragment[];
  readonly call: number;
  readonly head: boolean;
  /** How many tokens the model had to write for it. */
  readonly tokens: number;
}

/** A call as OpenAI streams it: a head with index, id, type and name, then pieces of the arguments. */
export function fragmentsOf(calls: readonly ToolCall[], tokensPerPiece: number): readonly FragmentChunk[] {
  return calls.flatMap((call, index) => {
    const head: FragmentChunk = {
      fragments: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
      call: index,
      head: true,
      tokens: countTokens(call.name),
    };
    const pieces: FragmentChunk[] = [];
    for (let rest = call.arguments; rest !== '';) {
      const end = offsetOfTokens(rest, tokensPerPiece);
      const piece = rest.slice(0, end);
      const fragments = [{ index, function: { arguments: piece } }];
      pieces.push({ fragments, call: index, head: false, tokens: countTokens(piece) });
      rest = rest.slice(end);
    }
    return [head, ...pieces];
  });
}
