import { createHmac } from 'node:crypto';

/**
 * Returns sixteen hexadecimal digits of an HMAC. Without the key, a digest reveals nothing about its input, even if all inputs are
 * tried.
 */
export function keyedDigest(key: string, value: number | string): string {
  return createHmac('sha256', key).update(String(value)).digest('hex').slice(0, 16);
}
