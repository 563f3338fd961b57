import { randomFillSync } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const idLength = 24;
const pool = new Uint8Array(idLength * 256);
let at = pool.length;

/** An id of 24 characters with 144 random bits. Random bytes are drawn for 256 ids at a time. */
export function newRequestId(): string {
  if (at === pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  let id = '';
  for (const end = at + idLength; at < end; at += 1) id += alphabet.charAt((pool[at] ?? 0) & 63);
  return id;
}
