import { hash, randomBytes } from 'node:crypto';
import { keyText } from '../core/key-text.ts';

export { looksLikeKey } from '../core/key-text.ts';

/** Makes a key. The text is shown to its owner once; only the hash is ever stored. */
export function newKey(): { readonly text: string; readonly hash: string } {
  const text = keyText(randomBytes(32));
  return { text, hash: hashKey(text) };
}

/**
 * The SHA-256, in lowercase hex, by which a key is stored and found. A fast hash is enough:
 * the text carries 256 random bits, so there is nothing to guess.
 */
export function hashKey(text: string): string {
  return hash('sha256', text, 'hex');
}
