import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A key of the deployment, and the name by which what it sealed finds it again. */
export interface SealKey {
  /** The first bytes of its SHA-256: they tell keys apart and nothing about them. */
  readonly id: Buffer;
  readonly secret: Buffer;
}

/** Bytes of a key's id. */
export const idBytes = 4;
/** AES-256. */
const keyBytes = 32;

/** Least time between two looks at the file, milliseconds. */
const lookEveryMs = 1000;

function readKey(line: string, number: number): SealKey {
  const secret = /^[0-9a-f]{64}$/i.test(line) ? Buffer.from(line, 'hex') : Buffer.from(line, 'base64');
  if (secret.length !== keyBytes || !/^[\w+/=-]+$/.test(line)) {
    throw new Error(`line ${number}: expected 32 random bytes in base64 or hex`);
  }
  return { id: createHash('sha256').update(secret).digest().subarray(0, idBytes), secret };
}

/** Reads a key file: a key on each line, `#` before a comment. Throws what is wrong, by line, without quoting it. */
export function parseKeys(text: string): readonly [SealKey, ...SealKey[]] {
  const lines = text.split('\n').map((line, at) => ({ line: line.replace(/#.*$/, '').trim(), number: at + 1 }));
  const [first, ...others] = lines.filter(({ line }) => line !== '').map(({ line, number }) => readKey(line, number));
  if (first === undefined) throw new Error('expected a key: 32 random bytes in base64 or hex');
  const ids = [first, ...others].map(({ id }) => id.toString('hex'));
  if (new Set(ids).size < ids.length) throw new Error('a key stands in it twice');
  return [first, ...others];
}

/** The deployment's keys: the first one seals, all of them open. */
export interface KeyRing {
  readonly keys: () => readonly [SealKey, ...SealKey[]];
}

/**
 * Reads the keys of a file, again when it changes, so that a key is rotated without a restart. A file that is away or bad
 * for a moment keeps the keys there were. Throws when it cannot be read to begin with.
 */
export function openKeyRing(path: string, elapsed: () => number): KeyRing {
  let mark = '';
  let lookedAt = elapsed();
  let held = read();

  function read(): readonly [SealKey, ...SealKey[]] {
    const { mtimeMs, size, ino } = statSync(path);
    const seen = `${mtimeMs} ${size} ${ino}`;
    if (seen === mark) return held;
    const keys = parseKeys(readFileSync(path, 'utf8'));
    mark = seen;
    return keys;
  }

  return {
    keys: () => {
      if (elapsed() - lookedAt >= lookEveryMs) {
        lookedAt = elapsed();
        try {
          held = read();
        } catch {
          // What was sealed must go on opening, whatever somebody is doing to the file.
        }
      }
      return held;
    },
  };
}

/** Makes a key file with one key unless there is one, for a deployment of one replica whose operator named none. */
export function ensureKeyFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, `${randomBytes(keyBytes).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
