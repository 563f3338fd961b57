import type { Content, Message, ToolCall } from '../../core/request.ts';
import { present } from '../present.ts';
import type { AssistantBlock } from './content-blocks.ts';
import { contentOf, readUserTurn } from './read-user-turn.ts';
import type { MessagesBody, WireMessage } from './schema.ts';

type Assistant = Message & { readonly role: 'assistant' };

const joined = (texts: readonly string[]): string => texts.join('');

/**
 * Reads the blocks of an assistant's turn. Its thinking becomes one trace, exactly as it was written (service specification §2.2):
 * where text stood between two parts of it, engines have no place for that.
 */
function readAssistantTurn(blocks: readonly AssistantBlock[]): Assistant {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: ToolCall[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        texts.push(block.text);
        break;
      case 'thinking':
        thoughts.push(block.thinking);
        break;
      case 'tool_use':
        toolCalls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
        break;
      case 'redacted_thinking':
        break;
    }
  }
  const content = texts.length > 0 || toolCalls.length === 0 ? joined(texts) : undefined;
  const reasoning = joined(thoughts);
  return {
    role: 'assistant',
    ...present({ content }),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function readTurn({ role, content }: WireMessage): readonly Message[] {
  switch (role) {
    case 'system':
      return [{ role, content: typeof content === 'string' ? content : joined(content.map(({ text }) => text)) }];
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : readUserTurn(content);
    case 'assistant':
      return [typeof content === 'string' ? { role, content } : readAssistantTurn(content)];
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
export function readMessages({ system, messages }: Pick<MessagesBody, 'system' | 'messages'>): readonly Message[] {
  const read: Message[] =
    system === undefined || system === null ? [] : [...readTurn({ role: 'system', content: system })];
  for (const message of messages.flatMap(readTurn)) {
    const last = read.at(-1);
    const whole = last === undefined ? undefined : merged(last, message);
    if (whole === undefined) read.push(message);
    else read[read.length - 1] = whole;
  }
  return read;
}
