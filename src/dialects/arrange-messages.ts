import type { MessageForm } from '../core/capability.ts';
import type { Message } from '../core/request.ts';
import { contentOf, type Part, paragraphs, textOf, textPart } from './content.ts';

/** An image that a tool brought, in words. The caller's own have none: a model that takes no images refuses those. */
function describeImages(message: Message): Message {
  if (message.role !== 'user' || typeof message.content === 'string') return message;
  const described = message.content.map((part): Part =>
    part.type === 'image' && part.alternative !== undefined ? textPart(part.alternative) : part,
  );
  return { ...message, content: contentOf(described) };
}

/** How a system message reads as part of a user's turn: between tags that name what it is. */
const asUserText = (text: string): string => `<system-message>\n${text}\n</system-message>`;

type UserTurn = Extract<Message, { role: 'user' }>;

/**
 * The conversation for a chat template that takes one system message, at the beginning. Leading system messages are joined, a
 * paragraph each. Each later one becomes part of a user's turn: of the one before it, else of the one after it, else a turn of
 * its own, since many such templates refuse two turns of a user in a row, too. Results of tools stay right behind their calls.
 */
function leadWithSystem(messages: readonly Message[]): readonly Message[] {
  // As a rule there is nothing to arrange, and this stands on the way of every request.
  if (!messages.some(({ role }, at) => role === 'system' && at > 0)) return messages;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = messages.slice(0, first === -1 ? messages.length : first);
  const arranged: Message[] = [];
  const opening = leading[0];
  if (opening?.role === 'system') {
    const texts = leading.map(({ content = '' }) => textOf(content));
    arranged.push(leading.length === 1 ? opening : { ...opening, content: texts.join('\n\n') });
  }
  /** The user's turn that came last, and the later system messages that become part of it. */
  let open: { readonly turn: UserTurn; readonly texts: string[] } | undefined;
  /** What later system messages say until a user's turn can hold it. */
  let waiting: string[] = [];

  function close(): void {
    if (open === undefined) return;
    const { turn, texts } = open;
    arranged.push(texts.length === 0 ? turn : { ...turn, content: paragraphs([turn.content, ...texts]) });
    open = undefined;
  }
  function takeWaiting(): readonly string[] {
    const texts = waiting;
    waiting = [];
    return texts;
  }

  for (const message of messages.slice(leading.length)) {
    switch (message.role) {
      case 'system': {
        const text = textOf(message.content);
        if (text !== '') (open?.texts ?? waiting).push(asUserText(text));
        break;
      }
      case 'user': {
        close();
        const before = takeWaiting();
        const turn = before.length === 0 ? message : { ...message, content: paragraphs([...before, message.content]) };
        open = { turn, texts: [] };
        break;
      }
      case 'assistant':
        close();
        if (waiting.length > 0) arranged.push({ role: 'user', content: paragraphs(takeWaiting()) });
        arranged.push(message);
        break;
      case 'tool':
        close();
        arranged.push(message);
        break;
    }
  }
  close();
  if (waiting.length > 0) arranged.push({ role: 'user', content: paragraphs(waiting) });
  return arranged;
}

/** The conversation as a model can take it. Pure: engines and the tokenizer are given the same. */
export function arrangeMessages(
  messages: readonly Message[],
  { systemMessages, images }: MessageForm,
): readonly Message[] {
  const seen = images === 'described' ? messages.map(describeImages) : messages;
  return systemMessages === 'Leading' ? leadWithSystem(seen) : seen;
}
