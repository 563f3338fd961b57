import type { JWTPayload } from 'jose';
import { isObject } from '../../core/json.ts';
import { createJsonScan } from '../../core/json-scan.ts';

/** A ServiceAccount's token has 1 KB, those of others up to 4 KB. A longer one is not read. */
const maxTokenLength = 8 * 1024;

/** Three parts in base64url (RFC 7515, section 7.1). A key of Weir has no dots. */
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export const looksLikeToken = (text: string): boolean => text.length <= maxTokenLength && form.test(text);

/** The claims of a token, which are not verified yet. Undefined: it has none that can be read. */
export const claimsIn = (token: string): JWTPayload | undefined => claimsOf(token.split('.')[1] ?? '');

/**
 * Reads claims: JSON in base64url. RFC 7519, section 4, lets a reader choose among claims of the same name. Another reader may have
 * chosen otherwise, so such claims are none.
 */
export function claimsOf(part: string): JWTPayload | undefined {
  if (part.length > maxTokenLength) return undefined;
  const text = Buffer.from(part, 'base64url').toString();
  try {
    const claims: unknown = JSON.parse(text);
    const isPlain = isObject(claims) && createJsonScan({ maxDepth: Infinity, maxValues: valuesOf(claims) }).push(text);
    return isPlain ? claims : undefined;
  } catch {
    return undefined;
  }
}

/** Objects, lists and commas, as a scan counts them: a name that is there twice makes one more in the text. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, one) => sum + valuesOf(one), 1 + Math.max(0, inner.length - 1));
}
