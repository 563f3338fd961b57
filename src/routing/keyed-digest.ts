import { createHmac } from 'node:crypto';

/**
 * Sixteen hexadecimal digits of an HMAC: who does not have the key learns nothing from the digest, not even by trying inputs.
 */
export function keyedDigest(key: string, value: number): string {
  return createHmac('sha256', key).update(String(value)).digest('hex').slice(0, 16);
}
