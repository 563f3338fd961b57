import { createHash, type Hash } from 'node:crypto';
import type { Content, Message, Request } from './request.ts';

/** Shortest beginning worth keeping together: an engine's cache saves little on less. Bytes of text. */
const leastBytes = 1024;
/** No more than so much of a prompt is looked at: who shares that much shares it all, or near enough. */
const mostBytes = 64 * 1024;
/** Of a conversation of many short turns the later boundaries are left out. */
const mostPrefixes = 64;
/** An image is worth at least as much as so much text, wherever its bytes are. */
const imageBytes = 1024;

/** Kinds of text. */
const marks = { model: 10, tools: 11, text: 12, image: 13, reasoning: 14, callName: 15, callArguments: 16 } as const;

/** A hash over all that was fed, and how much text that was, bytes. */
interface Rolling {
  readonly hash: Hash;
  bytes: number;
}

const fresh = (): Rolling => ({ hash: createHash('sha256'), bytes: 0 });

const encoder = new TextEncoder();
const room = new Uint8Array(mostBytes);

/** Feeds a text as UTF-8, as much of it as is looked at, after what kind it is. */
function feedText(rolling: Rolling, kind: number, text: string): void {
  const { read, written } = encoder.encodeInto(text, room);
  const end = Math.min(written, mostBytes - rolling.bytes);
  rolling.hash.update(`${kind} `).update(room.subarray(0, end));
  rolling.bytes += end;
  // Where a text ends is part of it, unless it goes on beyond what is looked at.
  if (read === text.length && end === written) rolling.hash.update(` ${end};`);
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
  rolling.hash.update(message.role);
  if (message.role === 'assistant') {
    if (message.reasoning !== undefined) feedText(rolling, marks.reasoning, message.reasoning);
    for (const call of message.toolCalls ?? []) {
      feedText(rolling, marks.callName, call.name);
      feedText(rolling, marks.callArguments, call.arguments);
    }
  }
  feedContent(rolling, message.content);
}

/** Bytes of a digest: a whole number that is exact in JavaScript. */
const digestBytes = 6;

const digestOf = (hash: Hash): number => hash.digest().readUIntBE(0, digestBytes);

/** A digest of what was fed until now; more may be fed. */
const digestSoFar = ({ hash }: Rolling): number => digestOf(hash.copy());

/**
 * Digests of how a request's prompt begins, shortest first: its tools and leading system messages, then with each message
 * that follows, wherever that is a kilobyte at least. Equal beginnings for the same model have equal digests; different ones
 * may, too, once in a very long while: use them for preference alone.
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
      if (rolling.bytes >= leastBytes) prefixes.push(digestSoFar(rolling));
    }
    if (rolling.bytes >= mostBytes || prefixes.length >= mostPrefixes) return prefixes;
    feedMessage(rolling, message);
    if (!isLeading && rolling.bytes >= leastBytes) prefixes.push(digestSoFar(rolling));
  }
  if (isLeading && rolling.bytes >= leastBytes) prefixes.push(digestSoFar(rolling));
  return prefixes;
}

/** A digest of a whole text: equal ones have equal digests. Use it for preference alone, as those of `prefixesOf`. */
export const textDigest = (text: string): number => digestOf(createHash('sha256').update(text));

/** Of a longer text, the beginning and the end are looked at: a question stands before what it is about, or after it. */
const endCharacters = 32 * 1024;

function feedEnds(hash: Hash, text: string): void {
  const ends = text.length <= 2 * endCharacters ? text : text.slice(0, endCharacters) + text.slice(-endCharacters);
  hash.update(`${text.length} `).update(ends);
}

/** A digest of a whole prompt. Equal prompts for the same model have the same one, whoever sends them and with what parameters. */
export function promptDigest({ modelId, messages, tools }: Request): number {
  const hash = createHash('sha256');
  feedEnds(hash, modelId);
  if (tools.length > 0) feedEnds(hash, JSON.stringify(tools));
  for (const message of messages) {
    hash.update(message.role);
    const { content = '' } = message;
    for (const part of typeof content === 'string' ? [content] : content) {
      feedEnds(hash, typeof part === 'string' ? part : part.type === 'text' ? part.text : part.url);
    }
    if (message.role !== 'assistant') continue;
    feedEnds(hash, message.reasoning ?? '');
    for (const call of message.toolCalls ?? []) feedEnds(hash, call.arguments);
  }
  return digestOf(hash);
}
