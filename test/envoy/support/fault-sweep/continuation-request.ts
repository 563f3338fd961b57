import type { SweepReference } from './sweep-reference.ts';

interface AskedBody extends Readonly<Record<string, unknown>> {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
}

/** Fields in which a request to go on may differ from the first one. */
const changing = new Set(['messages', 'n', 'continue_final_message', 'add_generation_prompt']);
const caps = new Set(['max_tokens', 'max_completion_tokens']);

const isPartial = ({ messages }: AskedBody): boolean => messages.at(-1)?.['role'] === 'assistant';

/** The first of these fields that is a text. */
function textIn(message: Readonly<Record<string, unknown>>, ...names: readonly string[]): string {
  const text = names.map((name) => message[name]).find((value) => typeof value === 'string');
  return typeof text === 'string' ? text : '';
}

function faultOfFields(first: AskedBody, next: AskedBody): string | undefined {
  const names = new Set([...Object.keys(first), ...Object.keys(next)]);
  for (const name of names) {
    if (changing.has(name)) continue;
    if (caps.has(name) ? Number(next[name]) <= Number(first[name]) && Number(next[name]) > 0 : false) continue;
    if (JSON.stringify(first[name]) !== JSON.stringify(next[name])) {
      return `${name} is ${JSON.stringify(next[name])} when going on, and was ${JSON.stringify(first[name])}`;
    }
  }
  return undefined;
}

/**
 * What is wrong with what the spare engine was asked, compared with the request that broke: it may differ in the partial turn at
 * its end alone (an added prompt changes the answer), and that turn holds what was delivered and nothing else.
 */
export function faultOfRequests(
  asked: { readonly broken: readonly unknown[]; readonly spare: readonly unknown[] },
  { choices }: SweepReference,
): string | undefined {
  const [first] = asked.broken as readonly AskedBody[];
  if (first === undefined) return undefined;
  for (const next of asked.spare as readonly AskedBody[]) {
    const partial = isPartial(next) ? next.messages.at(-1) : undefined;
    const messages = partial === undefined ? next.messages : next.messages.slice(0, -1);
    if (JSON.stringify(messages) !== JSON.stringify(first.messages)) return 'the conversation was changed';
    const fault = faultOfFields(first, next);
    if (fault !== undefined) return fault;
    if (partial === undefined) continue;
    const text = textIn(partial, 'content');
    const trace = textIn(partial, 'reasoning', 'reasoning_content');
    const begins = ({ message }: SweepReference['choices'][number]): boolean =>
      (message.content ?? '').startsWith(text) && (message.reasoning ?? '').startsWith(trace);
    if (!choices.some(begins)) return `the partial turn is ${JSON.stringify(partial)}`;
  }
  return undefined;
}
