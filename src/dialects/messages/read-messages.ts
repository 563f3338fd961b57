import type { Content, Message } from '../../core/request.ts';
import { readAssistantTurn } from './read-assistant-turn.ts';
import { contentOf, readUserTurn } from './read-user-turn.ts';
import type { MessagesBody, WireMessage } from './schema.ts';
import type { Unsealing } from './unseal.ts';

const joined = (texts: readonly string[]): string => texts.join('');

const systemTurn = (content: NonNullable<MessagesBody['system']>): Message => ({
  role: 'system',
  content: typeof content === 'string' ? content : joined(content.map(({ text }) => text)),
});

function readTurn({ role, content }: WireMessage, at: number, unsealing: Unsealing): readonly Message[] {
  switch (role) {
    case 'system':
      return [systemTurn(content)];
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : readUserTurn(content);
    case 'assistant':
      return typeof content === 'string'
        ? [{ role, content }]
        : readAssistantTurn(content, { unsealing, path: ['messages', at, 'content'] });
  }
}

const partsOf = (content: Content): Exclude<Content, string> =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/** Two turns of the same role are one, a paragraph each: this format says so, and chat templates refuse them. */
function merged(one: Message, other: Message): Message | undefined {
  if (one.role === 'user' && other.role === 'user') {
    const parts = [...partsOf(one.content), { type: 'text', text: '\n\n' } as const, ...partsOf(other.content)];
    return { role: 'user', content: contentOf(parts) };
  }
  if (one.role !== 'assistant' || other.role !== 'assistant') return undefined;
  const contents = [one.content, other.content].flatMap((content) => (content === undefined ? [] : [content]));
  const texts = contents.map((content) => (typeof content === 'string' ? content : '')).filter((text) => text !== '');
  const reasoning = joined([one.reasoning ?? '', other.reasoning ?? '']);
  const toolCalls = [...(one.toolCalls ?? []), ...(other.toolCalls ?? [])];
  return {
    role: 'assistant',
    ...(contents.length === 0 ? {} : { content: texts.join('\n\n') }),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/** The conversation of a body, its system text first. */
export function readMessages(
  { system, messages }: Pick<MessagesBody, 'system' | 'messages'>,
  unsealing: Unsealing,
): readonly Message[] {
  const read: Message[] = system === undefined || system === null ? [] : [systemTurn(system)];
  for (const message of messages.flatMap((turn, at) => readTurn(turn, at, unsealing))) {
    const last = read.at(-1);
    const whole = last === undefined ? undefined : merged(last, message);
    if (whole === undefined) read.push(message);
    else read[read.length - 1] = whole;
  }
  return read;
}
