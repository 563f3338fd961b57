import type { AnswerEvent } from '../../core/event.ts';
import type { CallForm } from '../../core/request.ts';
import { isObject, parseJson } from '../json.ts';
import { customInput } from './read-tools.ts';

type ToolStart = Extract<AnswerEvent, { readonly type: 'tool-start' }>;
type ToolDelta = Extract<AnswerEvent, { readonly type: 'tool-delta' }>;

/** A call that is whole. */
export interface WholeCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Writes calls of tools in the form that the caller knows; every delta is the object of a chunk. */
export interface CallWriter {
  readonly start: (event: ToolStart) => readonly object[];
  readonly delta: (event: ToolDelta) => readonly object[];
  /** What was held back of the calls of a choice that ends. */
  readonly end: (choice: number) => readonly object[];
  /** The fields of a message that made these calls. */
  readonly message: (calls: readonly WholeCall[]) => object;
  readonly finishReason: (reason: string) => string;
}

/** The text that a custom tool is called with: the one argument of the function that stood for it. */
function textOf(text: string): string {
  const value = parseJson(text);
  const input = isObject(value) ? value[customInput] : undefined;
  return typeof input === 'string' ? input : text;
}

const functionCalls: CallWriter = {
  start: ({ tool, id, name }) => [
    { tool_calls: [{ index: tool, id, type: 'function', function: { name, arguments: '' } }] },
  ],
  delta: ({ tool, text }) => [{ tool_calls: [{ index: tool, function: { arguments: text } }] }],
  end: () => [],
  message: (calls) => ({
    tool_calls: calls.map(({ id, name, arguments: text }) => ({
      ...{ id, type: 'function', function: { name, arguments: text } },
    })),
  }),
  finishReason: (reason) => reason,
};

/** The format's first form has one call, without an id: the first. */
const firstForm: CallWriter = {
  start: ({ tool, name }) => (tool === 0 ? [{ function_call: { name, arguments: '' } }] : []),
  delta: ({ tool, text }) => (tool === 0 ? [{ function_call: { arguments: text } }] : []),
  end: () => [],
  message: ([call]) => (call === undefined ? {} : { function_call: { name: call.name, arguments: call.arguments } }),
  finishReason: (reason) => (reason === 'tool_calls' ? 'function_call' : reason),
};

/** Calls of custom tools carry their text, which is whole only at the end: it leaves in one piece. */
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
      return ending.map(([, { tool, text }]) => ({ tool_calls: [{ index: tool, custom: { input: textOf(text) } }] }));
    },
    message: (calls) => ({
      tool_calls: calls.map(({ id, name, arguments: text }) =>
        names.includes(name)
          ? { id, type: 'custom', custom: { name, input: textOf(text) } }
          : { id, type: 'function', function: { name, arguments: text } },
      ),
    }),
    finishReason: (reason) => reason,
  };
}

export function createCallWriter(form: CallForm | undefined): CallWriter {
  if (form === undefined) return functionCalls;
  return form.functionCall ? firstForm : customCalls(form.customTools);
}
