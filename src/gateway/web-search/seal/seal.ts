import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { messageOf } from '../../../core/failure.ts';
import type { SealFiles, SearchSeal, TraceSeal } from '../../../core/web-search.ts';
import { ensureKeyFile, idBytes, openKeyRing, type SealKeys } from './key-ring.ts';

/**
 * Opens the deployment's seal. Without a `keyFile`, a key is made and kept in `ownFile`. Throws an error that names the setting when
 * the key file cannot be read.
 */
export function openSeal({
  keyFile,
  ownFile,
  elapsed,
}: SealFiles & { readonly elapsed: () => number }): SearchSeal & TraceSeal {
  if (keyFile === undefined) ensureKeyFile(ownFile);
  try {
    return createSeal(openKeyRing(keyFile ?? ownFile, elapsed));
  } catch (error) {
    const name = keyFile === undefined ? ownFile : 'WEIR_SEAL_KEY_FILE';
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
}

/** First byte of a token, which identifies its layout. */
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + idBytes + nonceBytes;

/** Longest token of each purpose that is opened. A token cannot be opened for another purpose. */
const maxToken = {
  // A source takes a quarter of it at most.
  'web search source': 128 * 1024,
  'web search number': 1024,
  // The longest reasoning of a model is a few hundred thousand tokens.
  reasoning: 8 * 1024 * 1024,
} as const;
type Purpose = keyof typeof maxToken;

const sealedSource = z.union([
  z.tuple([z.int().min(1), z.string(), z.string(), z.string()]),
  z.tuple([z.int().min(1), z.string(), z.string(), z.string(), z.string()]),
]);
const sealedNumber = z.int().min(1);

/**
 * Seals with AES-256-GCM under the deployment's key: version, key id, nonce, ciphertext and tag, in base64url. Nonces are random,
 * so a key is good for 2³² tokens (NIST SP 800-38D §8.3). Tokens are not bound to a workspace: they hold public web pages and
 * reasoning, which their holder has already got.
 */
export function createSeal(keys: () => SealKeys): SearchSeal & TraceSeal {
  function seal(purpose: Purpose, value: unknown): string {
    const [{ id, secret }] = keys();
    const nonce = randomBytes(nonceBytes);
    const head = Buffer.concat([Buffer.of(version), id, nonce]);
    const cipher = createCipheriv('aes-256-gcm', secret, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.concat([head, Buffer.from(purpose)]));
    const text = cipher.update(JSON.stringify(value), 'utf8');
    return Buffer.concat([head, text, cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  function open(purpose: Purpose, token: string): unknown {
    if (token.length > maxToken[purpose] || !/^[\w-]+$/.test(token)) return undefined;
    const bytes = Buffer.from(token, 'base64url');
    // Other padding bits at the end of base64 would make a second token of the same content.
    if (bytes.length < headBytes + tagBytes || bytes.toString('base64url') !== token) return undefined;
    const head = bytes.subarray(0, headBytes);
    const key = keys().find(({ id }) => id.equals(head.subarray(1, 1 + idBytes)));
    if (head[0] !== version || key === undefined) return undefined;
    const nonce = head.subarray(1 + idBytes);
    const decipher = createDecipheriv('aes-256-gcm', key.secret, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.concat([head, Buffer.from(purpose)]));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(headBytes, -tagBytes)), decipher.final()]);
      return JSON.parse(text.toString('utf8'));
    } catch {
      return undefined;
    }
  }

  return {
    isOurs: (token) => {
      const head = Buffer.from(token.slice(0, 2 * headBytes), 'base64url');
      return head[0] === version && keys().some(({ id }) => id.equals(head.subarray(1, 1 + idBytes)));
    },
    sealSource: ({ number, url, title, text, pageAge }) =>
      seal('web search source', [number, url, title, text, ...(pageAge === undefined ? [] : [pageAge])]),
    openSource: (token) => {
      const { data } = sealedSource.safeParse(open('web search source', token));
      if (data === undefined) return undefined;
      const [number, url, title, text, pageAge] = data;
      return { number, url, title, text, pageAge };
    },
    sealNumber: (number) => seal('web search number', number),
    sealTrace: (text) => seal('reasoning', text),
    openTrace: (token) => z.string().safeParse(open('reasoning', token)).data,
    openNumber: (token) => sealedNumber.safeParse(open('web search number', token)).data,
  };
}
