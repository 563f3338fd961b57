import type { AnswerEvent } from '../../../core/event.ts';
import type { CallFormat } from '../../../core/request.ts';
import { customInputOf } from '../custom-tools.ts';

type ToolStart = Extract<AnswerEvent, { readonly type: 'tool-start' }>;
type ToolDelta = Extract<AnswerEvent, { readonly type: 'tool-delta' }>;

interface CompleteCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Writes tool calls in the format that the caller asked for. Each returned object is the delta of a chunk. */
interface CallWriter {
  readonly start: (event: ToolStart) => readonly object[];
  readonly delta: (event: ToolDelta) => readonly object[];
  /** Called when a choice ends. Writes the parts of its calls that were held back. */
  readonly end: (choice: number) => readonly object[];
  /** The fields of a whole message with these calls. */
  readonly message: (calls: readonly CompleteCall[]) => object;
  readonly finishReason: (reason: string) => string;
}

export function createCallWriter(format: CallFormat | undefined): CallWriter {
  if (format === undefined) return functionCalls;
  return format.functionCall ? firstVersion : customCalls(format.customTools);
}

const writeFunctionCall = ({ id, name, arguments: text }: CompleteCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

const functionCalls: CallWriter = {
  start: ({ tool, id, name }) => [
    { tool_calls: [{ index: tool, id, type: 'function', function: { name, arguments: '' } }] },
  ],
  delta: ({ tool, text }) => [{ tool_calls: [{ index: tool, function: { arguments: text } }] }],
  end: () => [],
  message: (calls) => ({ tool_calls: calls.map(writeFunctionCall) }),
  finishReason: (reason) => reason,
};

/** The format's first version: one `function_call` without an id. Any further call is dropped. */
const firstVersion: CallWriter = {
  start: ({ tool, name }) => (tool === 0 ? [{ function_call: { name, arguments: '' } }] : []),
  delta: ({ tool, text }) => (tool === 0 ? [{ function_call: { arguments: text } }] : []),
  end: () => [],
  message: ([call]) => (call === undefined ? {} : { function_call: { name: call.name, arguments: call.arguments } }),
  finishReason: (reason) => (reason === 'tool_calls' ? 'function_call' : reason),
};

/** A custom tool's call carries its input as text. The input is known when the arguments are complete, so it is sent in one piece. */
function customCalls(names: readonly string[]): CallWriter {
  const held = new Map<string, { readonly choice: number; readonly tool: number; text: string }>();
  const keyOf = ({ choice, tool }: { readonly choice: number; readonly tool: number }): string => `${choice}/${tool}`;
  return {
    start: (event) => {
      const { choice, tool, id, name } = event;
      if (!names.includes(name)) return functionCalls.start(event);
      held.set(keyOf(event), { choice, tool, text: '' });
      return [{ tool_calls: [{ index: tool, id, type: 'custom', custom: { name, input: '' } }] }];
    },
    delta: (event) => {
      const call = held.get(keyOf(event));
      if (call === undefined) return functionCalls.delta(event);
      call.text += event.text;
      return [];
    },
    end: (choice) => {
      const ending = [...held].filter(([, call]) => call.choice === choice);
      for (const [key] of ending) held.delete(key);
      return ending.map(([, { tool, text }]) => ({
        tool_calls: [{ index: tool, custom: { input: customInputOf(text) } }],
      }));
    },
    message: (calls) => ({
      tool_calls: calls.map(({ id, name, arguments: text }) =>
        names.includes(name)
          ? { id, type: 'custom', custom: { name, input: customInputOf(text) } }
          : writeFunctionCall({ id, name, arguments: text }),
      ),
    }),
    finishReason: (reason) => reason,
  };
}
