import { hash } from 'node:crypto';
import type { BlockContents } from '../../core/pool-prompt.ts';
import type { Content, Message, Request } from '../../core/request.ts';

/**
 * Shortest beginning that justifies a preference for one engine, bytes of text. With a shorter one, an engine's cache
 * saves little.
 */
const minBytes = 1024;
/** Only this much of a prompt is digested: prompts that share so much nearly always share the rest. */
const maxBytes = 64 * 1024;
/**
 * The message after the system messages is digested up to this length, however long these are: it distinguishes
 * conversations.
 */
const firstMessageBytes = 16 * 1024;
/** An image counts as at least this many bytes of text, even if the message has only its URL. */
const imageBytes = 1024;

/** Kinds of text. */
const marks = { model: 10, tools: 11, text: 12, image: 13, reasoning: 14, callName: 15, callArguments: 16 } as const;

interface Beginning {
  text: string;
  /** Bytes of its texts, without the marks. */
  bytes: number;
}

/** Adds the digested part of a text, after a mark of its kind. */
function addText(beginning: Beginning, kind: number, text: string): void {
  const bytes = Buffer.byteLength(text);
  const room = maxBytes - beginning.bytes;
  // The end of a text is part of the digest, unless the text goes on beyond the limit.
  beginning.text += bytes <= room ? `${kind} ${text} ${bytes};` : `${kind} ${text.slice(0, room)}`;
  beginning.bytes += Math.min(bytes, room);
}

function addContent(beginning: Beginning, content: Content | undefined): void {
  if (content === undefined) return;
  if (typeof content === 'string') {
    addText(beginning, marks.text, content);
    return;
  }
  for (const part of content) {
    if (part.type === 'text') addText(beginning, marks.text, part.text);
    else {
      const least = Math.min(maxBytes, beginning.bytes + imageBytes);
      addText(beginning, marks.image, part.url);
      beginning.bytes = Math.max(beginning.bytes, least);
    }
  }
}

function addMessage(beginning: Beginning, message: Message): void {
  beginning.text += message.role;
  if (message.role === 'assistant') {
    if (message.reasoning !== undefined) addText(beginning, marks.reasoning, message.reasoning);
    for (const call of message.toolCalls ?? []) {
      addText(beginning, marks.callName, call.name);
      addText(beginning, marks.callArguments, call.arguments);
    }
  }
  addContent(beginning, message.content);
}

/** The first twelve of some hexadecimal digits, as the whole number that they are: JavaScript represents each such number exactly. */
export const numberOfDigits = (digits: string): number => Number.parseInt(digits.slice(0, 12), 16);
/** How many different ones there are. */
export const textDigests = 16 ** 12;

/** A digest of a whole text. Use it only for preferences: different texts very rarely have the same one. */
export const textDigest = (text: string): number => numberOfDigits(hash('sha256', text));

/**
 * A digest of the beginning of a conversation: the model, the tools, the leading system messages, and then at least one
 * more message and at least a kilobyte in all. All turns of a conversation have the same digest; conversations that
 * only share a system prompt do not. Undefined for a prompt of less than a kilobyte. Use it only for preferences.
 */
export function conversationDigest({ modelName, messages, tools }: Request): number | undefined {
  const beginning: Beginning = { text: `${marks.model} ${modelName};`, bytes: 0 };
  if (tools.length > 0) addText(beginning, marks.tools, JSON.stringify(tools));
  let isLeading = true;
  for (const message of messages) {
    if (isLeading && message.role !== 'system') {
      isLeading = false;
      beginning.bytes = Math.min(beginning.bytes, maxBytes - firstMessageBytes);
    }
    addMessage(beginning, message);
    if (!isLeading && beginning.bytes >= minBytes) break;
  }
  return beginning.bytes < minBytes ? undefined : textDigest(beginning.text);
}

/** A digest of a whole prompt: the same for equal prompts to the same model, whatever the caller and the parameters. */
export const promptDigest = (modelName: string, { digests, end }: BlockContents): number =>
  textDigest(`${digests} ${end} ${modelName}`);
