import type { ChatMessage } from './chat-message.ts';
import { type Directive, DirectiveError } from './directive.ts';
import { isJsonObject } from './json-value.ts';

/** What is said and called in one answer. */
export interface ScriptStep {
  readonly say: string;
  /** `arguments` is sent as it is. */
  readonly call: readonly { readonly name: string; readonly arguments: string }[];
}

function readCall(value: unknown): ScriptStep['call'][number] {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') throw new DirectiveError('calls with a name each');
  const { name, arguments: given = {} } = value;
  return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
}

function readStep(value: unknown): ScriptStep {
  const { say = '', call = [] } = isJsonObject(value) ? value : {};
  if (!isJsonObject(value) || typeof say !== 'string' || !Array.isArray(call)) {
    throw new DirectiveError('a list of {"say": string, "call": [{"name", "arguments"}]}');
  }
  return { say, call: call.map(readCall) };
}

/** A list of answers, for an agent's loop: the first to a user's message, each later one to what the tools answered. */
export function script(meaning: string): Directive<readonly ScriptStep[]> {
  return {
    accepts: 'list of `{"say", "call": [{"name", "arguments"}]}`',
    meaning,
    read: (value) => {
      if (!Array.isArray(value)) throw new DirectiveError('a list of {"say": string, "call": [{"name", "arguments"}]}');
      return value.map(readStep);
    },
  };
}

/** The step that a conversation has come to: the last one when it has gone on for longer. */
export function stepOf(
  steps: readonly ScriptStep[] | undefined,
  messages: readonly ChatMessage[],
): ScriptStep | undefined {
  // Agents add reminders, and what a tool's answer cannot hold, as the user's words behind the answers of tools.
  const asked = messages.findLastIndex(({ role }, at) => role === 'user' && messages[at - 1]?.role !== 'tool');
  const answered = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length;
  return steps?.[Math.min(answered, steps.length - 1)];
}
