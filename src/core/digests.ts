import { hash } from 'node:crypto';
import type { Content, Message, Request } from './request.ts';

/** Shortest prefix worth a preference for one engine, bytes of text: an engine's cache saves little on less. */
const leastBytes = 1024;
/** Only so much of a prompt is digested: prompts that share so much nearly always share the rest. */
const mostBytes = 64 * 1024;
/** The message behind the system messages is digested so far however long these are: it tells conversations apart. */
const firstMessageBytes = 16 * 1024;
/** Most prefixes of one prompt: in a conversation of many short turns the later ones are left out. */
const mostPrefixes = 64;
/** An image counts as at least so much text, wherever its bytes are. */
const imageBytes = 1024;

/** Kinds of text. */
const marks = { model: 10, tools: 11, text: 12, image: 13, reasoning: 14, callName: 15, callArguments: 16 } as const;

/** The beginning of a prompt: the digest up to the last boundary, and what has come since. One hash for each boundary is the cheapest way. */
interface Beginning {
  digest: string;
  since: string;
  /** Bytes of text in all. */
  bytes: number;
}

/** Adds a text, as much of it as is looked at, after what kind it is. */
function addText(beginning: Beginning, kind: number, text: string): void {
  const bytes = Buffer.byteLength(text);
  const room = mostBytes - beginning.bytes;
  // The end of a text is part of the digest, unless the text goes on beyond the limit.
  beginning.since += bytes <= room ? `${kind} ${text} ${bytes};` : `${kind} ${text.slice(0, room)}`;
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
      const least = Math.min(mostBytes, beginning.bytes + imageBytes);
      addText(beginning, marks.image, part.url);
      beginning.bytes = Math.max(beginning.bytes, least);
    }
  }
}

function addMessage(beginning: Beginning, message: Message): void {
  beginning.since += message.role;
  if (message.role === 'assistant') {
    if (message.reasoning !== undefined) addText(beginning, marks.reasoning, message.reasoning);
    for (const call of message.toolCalls ?? []) {
      addText(beginning, marks.callName, call.name);
      addText(beginning, marks.callArguments, call.arguments);
    }
  }
  addContent(beginning, message.content);
}

/** Hexadecimal digits of a digest: as many as make a whole number that is exact in JavaScript. */
const digestDigits = 12;

const asNumber = (digest: string): number => Number.parseInt(digest.slice(0, digestDigits), 16);

/** A digest of what was added until now; more may be added. */
function digestSoFar(beginning: Beginning): number {
  beginning.digest = hash('sha256', beginning.digest + beginning.since);
  beginning.since = '';
  return asNumber(beginning.digest);
}

export interface Beginnings {
  /**
   * Digests of the prefixes of a prompt, shortest first: its tools and leading system messages, then with one more message each,
   * where that is at least a kilobyte.
   */
  readonly prefixes: readonly number[];
  /**
   * The digest of the shortest prefix that has the first message behind the leading system messages. All turns of a conversation
   * have the same one, and conversations that share a system prompt do not. Without such a message that of the shortest prefix;
   * undefined when there is none.
   */
  readonly conversation: number | undefined;
}

/**
 * Digests how a prompt begins. Equal prefixes for the same model have equal digests. Different prefixes very rarely have equal
 * ones, too, so use digests only for preferences.
 */
export function beginningsOf({ modelId, messages, tools }: Request): Beginnings {
  const beginning: Beginning = { digest: '', since: `${marks.model} ${modelId};`, bytes: 0 };
  if (tools.length > 0) addText(beginning, marks.tools, JSON.stringify(tools));
  const prefixes: number[] = [];
  let conversation: number | undefined;
  let isLeading = true;
  for (const message of messages) {
    if (isLeading && message.role !== 'system') {
      isLeading = false;
      if (beginning.bytes >= leastBytes) prefixes.push(digestSoFar(beginning));
      beginning.bytes = Math.min(beginning.bytes, mostBytes - firstMessageBytes);
    }
    if (!isLeading && (beginning.bytes >= mostBytes || prefixes.length >= mostPrefixes)) break;
    addMessage(beginning, message);
    if (isLeading || beginning.bytes < leastBytes) continue;
    const digest = digestSoFar(beginning);
    prefixes.push(digest);
    conversation ??= digest;
  }
  if (isLeading && beginning.bytes >= leastBytes) prefixes.push(digestSoFar(beginning));
  return { prefixes, conversation: conversation ?? prefixes[0] };
}

/** A digest of a whole text. Use it only for preferences, as those of `beginningsOf`. */
export const textDigest = (text: string): number => asNumber(hash('sha256', text));

/** Of a longer text only the beginning and the end are digested: a question comes before or after its material. */
const endCharacters = 32 * 1024;

function ends(text: string): string {
  const looked = text.length <= 2 * endCharacters ? text : text.slice(0, endCharacters) + text.slice(-endCharacters);
  return `${text.length} ${looked}`;
}

/** A digest of a whole prompt: the same for equal prompts to the same model, whatever the caller and the parameters. */
export function promptDigest({ modelId, messages, tools }: Request): number {
  let text = ends(modelId);
  if (tools.length > 0) text += ends(JSON.stringify(tools));
  for (const message of messages) {
    text += message.role;
    const { content = '' } = message;
    for (const part of typeof content === 'string' ? [content] : content) {
      text += ends(typeof part === 'string' ? part : part.type === 'text' ? part.text : part.url);
    }
    if (message.role !== 'assistant') continue;
    text += ends(message.reasoning ?? '');
    for (const call of message.toolCalls ?? []) text += ends(call.arguments);
  }
  return textDigest(text);
}
