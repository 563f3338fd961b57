import { createHash } from 'node:crypto';
import type { Surface } from '../../core/dialect.ts';

/**
 * The id of a request in the form of the ledger: 16 bytes as 32 hexadecimal digits. The first 6 bytes are the moment at
 * which the request started, in milliseconds since the Unix epoch, big-endian, so that rows are in the order of time by
 * their key alone. The other 10 make it unique.
 */
export type PackedId = string;

const timeBytes = 6;
const timeDigits = timeBytes * 2;

/** The beginning of our ids, before 16 bytes in base64url, whose last character has four unused bits. */
const ownPrefixes = {
  chat: 'chatcmpl-',
  messages: 'msg_',
  responses: 'resp_',
  embeddings: 'embd-',
  rerank: 'rerank-',
} as const satisfies Readonly<Record<Surface, string>>;
const packedText = /^[\w-]{21}[AQgw]$/;

/**
 * Packs the id of a request. An id that Weir has not made becomes the start of the request and 80 bits of a hash; such
 * an id must also be stored as text. The same id and start give the same bytes, so a row that is settled again is
 * found.
 */
export function packId(
  requestId: string,
  { surface, startedAt }: { readonly surface: Surface; readonly startedAt: number },
): { readonly id: PackedId; /** Whether the bytes contain the whole id. */ readonly isOwn: boolean } {
  const prefix = ownPrefixes[surface];
  if (requestId.startsWith(prefix)) {
    const text = requestId.slice(prefix.length);
    if (packedText.test(text)) return { id: Buffer.from(text, 'base64url').toString('hex'), isOwn: true };
  }
  const hash = createHash('sha256').update(requestId).digest('hex');
  return { id: timeOf(startedAt) + hash.slice(0, 20), isOwn: false };
}

/** The id that `packId` packed, if the bytes contain the whole id. */
export function unpackId(id: PackedId, surface: Surface): string {
  return ownPrefixes[surface] + Buffer.from(id, 'hex').toString('base64url');
}

/** The moment at which a request started, milliseconds since the Unix epoch. */
export function startOf(id: PackedId): number {
  return Number.parseInt(id.slice(0, timeDigits), 16);
}

/** The lower bound of the ids of requests that started at this moment or later. */
export function firstIdAt(moment: number): PackedId {
  return timeOf(moment) + '0'.repeat(20);
}

const lastMoment = 2 ** (8 * timeBytes) - 1;

function timeOf(moment: number): string {
  if (!(moment >= 0 && moment <= lastMoment)) throw new RangeError(`${moment} is not a moment that an id can contain`);
  return moment.toString(16).padStart(timeDigits, '0');
}
