import type { MessageForm } from '../../core/capability.ts';
import type { Message } from '../../core/request.ts';
import { contentOf, contentText, type Part, paragraphs, textPart } from './content.ts';

/** Arranges the conversation in a form that the model accepts. Pure, so that engines and the tokenizer get the same messages. */
export function arrangeMessages(
  messages: readonly Message[],
  { systemMessages, images }: MessageForm,
): readonly Message[] {
  const described = images === 'described' ? messages.map(describeImages) : messages;
  return systemMessages === 'Leading' ? leadWithSystem(described) : described;
}

/**
 * Replaces images that tools returned by their description. The caller's own images have no description: a model without images
 * refuses them.
 */
function describeImages(message: Message): Message {
  if (message.role !== 'user' || typeof message.content === 'string') return message;
  const described = message.content.map((part): Part =>
    part.type === 'image' && part.alternative !== undefined ? textPart(part.alternative) : part,
  );
  return { ...message, content: contentOf(described) };
}

/** A system message as part of a user's turn: tags mark it as one. */
const asUserText = (text: string): string => `<system-message>\n${text}\n</system-message>`;

type UserTurn = Extract<Message, { role: 'user' }>;

/**
 * Arranges the conversation for a chat template that accepts one system message, at the beginning. Leading system messages become
 * one, a paragraph each. A later system message becomes part of the user's turn before it, else of the one after it, else a turn of
 * its own: many such templates also refuse two user turns in a row. Tool results stay right behind their calls.
 */
function leadWithSystem(messages: readonly Message[]): readonly Message[] {
  // Every request passes here, and most have nothing to arrange.
  if (!messages.some(({ role }, at) => role === 'system' && at > 0)) return messages;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = messages.slice(0, first === -1 ? messages.length : first);
  const arranged: Message[] = [];
  const system = leading[0];
  if (system?.role === 'system') {
    const texts = leading.map(({ content = '' }) => contentText(content));
    arranged.push(leading.length === 1 ? system : { ...system, content: texts.join('\n\n') });
  }
  /** The latest user turn, with the system messages behind it that become part of it. */
  let open: { readonly turn: UserTurn; readonly texts: string[] } | undefined;
  /** System messages that wait for a user turn. */
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
        const text = contentText(message.content);
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
