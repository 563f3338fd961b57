import type { Content, Message, Request } from './request.ts';

/** Shortest beginning worth keeping together: an engine's cache saves little on less. Bytes of text. */
const leastBytes = 1024;
/** No more than so much of a prompt is looked at: who shares that much shares it all, or near enough. */
const mostBytes = 64 * 1024;
/** Of a conversation of many short turns the later boundaries are left out. */
const mostPrefixes = 64;
/** An image is worth at least as much as so much text, wherever its bytes are. */
const imageBytes = 1024;

const roles = { system: 1, user: 2, assistant: 3, tool: 4 } as const satisfies Record<Message['role'], number>;

/** What stands before a piece of text. */
const marks = { model: 10, tools: 11, text: 12, image: 13, reasoning: 14, callName: 15, callArguments: 16 } as const;

/** Two 32-bit lanes over all that was fed, and how much text that was. Fast, and no secret: it stays in the process. */
interface Rolling {
  first: number;
  second: number;
  bytes: number;
}

const fresh = (): Rolling => ({ first: 0x243f6a88, second: 0x13198a2e, bytes: 0 });

const encoder = new TextEncoder();
const words = new Uint32Array(mostBytes / 4 + 1);
const scratch = new Uint8Array(words.buffer);
const room = scratch.subarray(0, mostBytes);

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

function feed(rolling: Rolling, word: number): void {
  rolling.first = Math.imul(rotate(rolling.first, 5) ^ word, 0x9e3779b1);
  rolling.second = Math.imul(rotate(rolling.second, 13) + word, 0x85ebca6b);
}

/** Feeds a text as UTF-8, four bytes at a time: several times faster than its UTF-16 units. */
function feedText(rolling: Rolling, kind: number, text: string): void {
  feed(rolling, kind);
  const { read, written } = encoder.encodeInto(text, room);
  const end = Math.min(written, mostBytes - rolling.bytes);
  scratch.fill(0, end, end + 3);
  const count = Math.ceil(end / 4);
  let { first, second } = rolling;
  for (let index = 0; index < count; index += 1) {
    const word = words[index] ?? 0;
    first = Math.imul(rotate(first, 5) ^ word, 0x9e3779b1);
    second = Math.imul(rotate(second, 13) + word, 0x85ebca6b);
  }
  rolling.first = first;
  rolling.second = second;
  rolling.bytes += end;
  // Where a text ends is part of it, unless it goes on beyond what is looked at.
  if (read === text.length && end === written) feed(rolling, end);
}

function feedContent(rolling: Rolling, content: Content | undefined): void {
  if (content === undefined) return;
  if (typeof content === 'string') {
    feedText(rolling, marks.text, content);
    return;
  }
  for (const part of content) {
    if (part.type === 'text') feedText(rolling, marks.text, part.text);
    else {
      const least = Math.min(mostBytes, rolling.bytes + imageBytes);
      feedText(rolling, marks.image, part.url);
      rolling.bytes = Math.max(rolling.bytes, least);
    }
  }
}

function feedMessage(rolling: Rolling, message: Message): void {
  feed(rolling, roles[message.role]);
  if (message.role === 'assistant') {
    if (message.reasoning !== undefined) feedText(rolling, marks.reasoning, message.reasoning);
    for (const call of message.toolCalls ?? []) {
      feedText(rolling, marks.callName, call.name);
      feedText(rolling, marks.callArguments, call.arguments);
    }
  }
  feedContent(rolling, message.content);
}

/** A whole number of 53 bits. */
function digestOf({ first, second }: Rolling): number {
  const low = Math.imul(first ^ (first >>> 16) ^ (second >>> 7), 0x7feb352d);
  const high = Math.imul(second ^ (second >>> 15) ^ (first >>> 9), 0x846ca68b);
  return ((high ^ (high >>> 16)) >>> 11) * 2 ** 32 + ((low ^ (low >>> 15)) >>> 0);
}

/**
 * Digests of how a request's prompt begins, shortest first: its tools and leading system messages, then with each message
 * that follows, wherever that is a kilobyte at least. Equal beginnings for the same model have equal digests; different ones
 * may, too, once in a very long while, or by the will of whoever writes them: use them for preference alone.
 */
export function prefixesOf({ modelId, messages, tools }: Request): readonly number[] {
  const rolling = fresh();
  feedText(rolling, marks.model, modelId);
  // A model's name is no part of its prompt.
  rolling.bytes = 0;
  if (tools.length > 0) feedText(rolling, marks.tools, JSON.stringify(tools));
  const prefixes: number[] = [];
  let isLeading = true;
  for (const message of messages) {
    if (isLeading && message.role !== 'system') {
      isLeading = false;
      if (rolling.bytes >= leastBytes) prefixes.push(digestOf(rolling));
    }
    if (rolling.bytes >= mostBytes || prefixes.length >= mostPrefixes) return prefixes;
    feedMessage(rolling, message);
    if (!isLeading && rolling.bytes >= leastBytes) prefixes.push(digestOf(rolling));
  }
  if (isLeading && rolling.bytes >= leastBytes) prefixes.push(digestOf(rolling));
  return prefixes;
}

/** Characters of a piece of text that are fed at once: never more than there is room for. */
const pieceCharacters = 16 * 1024;

/** Feeds a whole text, however much was fed before. */
function feedWhole(rolling: Rolling, text: string): void {
  for (let at = 0; at < text.length; at += pieceCharacters) {
    rolling.bytes = 0;
    feedText(rolling, marks.text, text.slice(at, at + pieceCharacters));
  }
}

/** A digest of a whole text: equal ones have equal digests. Use it for preference alone, as those of `prefixesOf`. */
export function textDigest(text: string): number {
  const rolling = fresh();
  feedWhole(rolling, text);
  return digestOf(rolling);
}

/** Of a longer text, the beginning and the end are looked at: a question stands before what it is about, or after it. */
const endCharacters = 2 * pieceCharacters;

function feedEnds(rolling: Rolling, text: string): void {
  feed(rolling, text.length);
  feedWhole(
    rolling,
    text.length <= 2 * endCharacters ? text : text.slice(0, endCharacters) + text.slice(-endCharacters),
  );
}

/** A digest of a whole prompt. Equal prompts for the same model have the same one, whoever sends them and with what parameters. */
export function promptDigest({ modelId, messages, tools }: Request): number {
  const rolling = fresh();
  feedWhole(rolling, modelId);
  if (tools.length > 0) feedEnds(rolling, JSON.stringify(tools));
  for (const message of messages) {
    feed(rolling, roles[message.role]);
    const { content = '' } = message;
    for (const part of typeof content === 'string' ? [content] : content) {
      feedEnds(rolling, typeof part === 'string' ? part : part.type === 'text' ? part.text : part.url);
    }
    if (message.role !== 'assistant') continue;
    feedEnds(rolling, message.reasoning ?? '');
    for (const call of message.toolCalls ?? []) feedEnds(rolling, call.arguments);
  }
  return digestOf(rolling);
}
