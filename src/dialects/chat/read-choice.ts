import type { AnswerEvent, Fault, Logprobs } from '../../core/event.ts';
import { isObject, type JsonObject, textOf } from '../json.ts';
import { readFinishReason } from './finish-reason.ts';
import { createToolRepair } from './repair-tools.ts';

export interface ReadOptions {
  /** Names of the tools the caller offered. */
  readonly toolNames: ReadonlySet<string>;
  /** Makes our id of a tool call; `choice` and `tool` are its indices. */
  readonly newToolId: (choice: number, tool: number) => string;
  /** Choices asked for: an answer is whole when each has ended. */
  readonly choices: number;
}

/** Reads one choice of an answer, delta by delta or as a whole message: the fields are the same. */
export interface ChoiceReader {
  readonly push: (choice: JsonObject, events: AnswerEvent[]) => Fault | undefined;
  readonly finished: () => boolean;
  /** The engine says that the answer is whole: ends a choice with whole calls and no finish_reason, as some leave it. */
  readonly close: (events: AnswerEvent[]) => void;
}

function logprobsOf(value: unknown): { readonly logprobs?: Logprobs } {
  if (!isObject(value)) return {};
  const content = Array.isArray(value['content']) ? { content: value['content'] } : {};
  const refusal = Array.isArray(value['refusal']) ? { refusal: value['refusal'] } : {};
  return { logprobs: { ...content, ...refusal } };
}

/** Older engines send one call in a field of its own. */
function fragmentsOf(delta: JsonObject): readonly unknown[] {
  if (Array.isArray(delta['tool_calls'])) return delta['tool_calls'];
  return isObject(delta['function_call']) ? [{ index: 0, function: delta['function_call'] }] : [];
}

export function createChoiceReader(index: number, options: ReadOptions): ChoiceReader {
  const tools = createToolRepair({
    choice: index,
    toolNames: options.toolNames,
    newId: (tool) => options.newToolId(index, tool),
  });
  let finished = false;
  let refused = false;

  function readDelta(delta: JsonObject, logprobs: { readonly logprobs?: Logprobs }, events: AnswerEvent[]): void {
    const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']);
    if (reasoning !== undefined) events.push({ type: 'reasoning-delta', choice: index, text: reasoning, deltas: 1 });
    const text = textOf(delta['content']);
    if (text !== undefined || logprobs.logprobs?.content?.length) {
      events.push({ type: 'text-delta', choice: index, text: text ?? '', deltas: 1, ...logprobs });
    }
    const refusal = textOf(delta['refusal']);
    if (refusal !== undefined) {
      refused = true;
      events.push({ type: 'refusal-delta', choice: index, text: refusal, deltas: 1, ...logprobs });
    }
    events.push(...tools.push(fragmentsOf(delta)));
  }

  return {
    finished: () => finished,
    close: (events) => {
      const closing = finished || !tools.isWhole() ? undefined : tools.end();
      if (closing === undefined) return;
      events.push(...closing, { type: 'finish', choice: index, reason: 'tool_calls' });
      finished = true;
    },
    push: (choice, events) => {
      const delta = choice['delta'] ?? choice['message'];
      // What an engine sends after the end of a choice would contradict the ending the caller has.
      if (isObject(delta) && !finished) readDelta(delta, logprobsOf(choice['logprobs']), events);
      const raw = choice['finish_reason'];
      if (finished || raw === undefined || raw === null || raw === '') return undefined;
      const content = { calledTools: tools.calledTools(), refused };
      const reason = typeof raw === 'string' ? readFinishReason(raw, content) : undefined;
      if (reason === undefined) return { kind: 'engine-error', detail: 'unknown finish_reason' };
      const closing = tools.end();
      if (closing === undefined) return { kind: 'malformed', detail: 'tool call without a name' };
      events.push(...closing, { type: 'finish', choice: index, reason });
      finished = true;
      return undefined;
    },
  };
}
