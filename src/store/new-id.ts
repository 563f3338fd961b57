import { randomBytes } from 'node:crypto';

/** A new id such as `ws_9f86d081884c7d659a2f`: the prefix says what it names, 80 random bits make it unique. */
export function newId(prefix: 'ws' | 'key' | 'credit'): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}
