import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, linkSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { messageOf } from '../core/failure.ts';
import { maxSecretBytes, readBoundedFileSync } from '../process/bounded-file.ts';

/** A token of 192 random bits in 32 characters: with it the address that signs in fits a line of 80. */
export function newToken(): string {
  return randomBytes(24).toString('base64url');
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Shorter tokens could be guessed: the limit on failed sign-ins would be the only protection. */
const minTokenLength = 32;

/**
 * Reads the admin token from a file. With `missing: 'make'` it creates a missing file, readable by its owner alone. Errors name the
 * file, never the token.
 */
export function readAdminToken(path: string, missing: 'make' | 'refuse'): string {
  const token = (missing === 'make' ? makeOnce(path) : undefined) ?? readToken(path);
  if (token.length < minTokenLength || !/^[\x21-\x7e]+$/.test(token)) {
    throw new Error(
      `${path}: expected an admin token of at least ${minTokenLength} visible characters without spaces, as \`openssl rand -base64 32\` makes them`,
    );
  }
  return token;
}

function readToken(path: string): string {
  try {
    return String(readBoundedFileSync(path, maxSecretBytes)).trim();
  } catch (cause) {
    throw new Error(`The admin token cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** When several processes create the file at the same time, the first token wins. */
function makeOnce(path: string): string | undefined {
  const token = newToken();
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${token}\n`, { flag: 'wx', mode: 0o600 });
    try {
      // A link creates the name together with its content, and fails if the name exists.
      linkSync(draft, path);
      return token;
    } finally {
      unlinkSync(draft);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new Error(`Weir cannot create the admin token: ${messageOf(error)}`, { cause: error });
    }
    // A restored backup may have other permissions.
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return undefined;
  }
}
