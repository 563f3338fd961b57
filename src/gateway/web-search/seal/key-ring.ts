import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { maxSecretBytes, readBoundedFileSync } from '../../../process/bounded-file.ts';

/** A key of the deployment, and the id by which tokens name the key. */
interface SealKey {
  /** The first bytes of the key's SHA-256, which reveal nothing about the key. */
  readonly id: Buffer;
  readonly secret: Buffer;
}

/** The deployment's keys: the first one seals, all of them open. */
export type SealKeys = readonly [SealKey, ...SealKey[]];

/** Length of a key's id, bytes. */
export const idBytes = 4;
/** Length of a key for AES-256, bytes. */
const keyBytes = 32;

/** Least time between two readings of the file, milliseconds. */
const readEveryMs = 1000;

function readKey(line: string, number: number): SealKey {
  const secret = /^[0-9a-f]{64}$/i.test(line) ? Buffer.from(line, 'hex') : Buffer.from(line, 'base64');
  if (secret.length !== keyBytes || !/^[\w+/=-]+$/.test(line)) {
    throw new Error(`line ${number}: expected 32 random bytes in base64 or hex`);
  }
  return { id: createHash('sha256').update(secret).digest().subarray(0, idBytes), secret };
}

/** Reads a key file: a key on each line, `#` before a comment. The error names the line and does not quote it. */
export function parseKeys(text: string): SealKeys {
  const lines = text.split('\n').map((line, at) => ({ line: line.replace(/#.*$/, '').trim(), number: at + 1 }));
  const [first, ...others] = lines.filter(({ line }) => line !== '').map(({ line, number }) => readKey(line, number));
  if (first === undefined) throw new Error('expected a key: 32 random bytes in base64 or hex');
  const ids = [first, ...others].map(({ id }) => id.toString('hex'));
  if (new Set(ids).size < ids.length) throw new Error('a key is in it twice');
  return [first, ...others];
}

/**
 * Returns a function that returns the keys of a file. It reads the file again at most once a second, so that keys are rotated without
 * a restart. While the file is missing or invalid, the last keys remain. Throws when the file cannot be read at first.
 */
export function openKeyRing(path: string, elapsed: () => number): () => SealKeys {
  const read = (): SealKeys => parseKeys(String(readBoundedFileSync(path, maxSecretBytes)));
  let keys = read();
  let readAt = elapsed();

  return () => {
    if (elapsed() - readAt >= readEveryMs) {
      readAt = elapsed();
      try {
        keys = read();
      } catch {
        // Tokens must still open, whatever happens to the file.
      }
    }
    return keys;
  };
}

/**
 * Creates a key file with one key, unless the file exists. For deployments of one replica in which the operator has named no file.
 */
export function ensureKeyFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, `${randomBytes(keyBytes).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
