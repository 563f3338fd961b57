import { createHmac } from 'node:crypto';

/** Sixteen hexadecimal digits of an HMAC. Without the key the digest reveals nothing, not even by trying inputs. */
export function keyedDigest(key: string, value: number): string {
  return createHmac('sha256', key).update(String(value)).digest('hex').slice(0, 16);
}
