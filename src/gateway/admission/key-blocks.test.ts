import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createKeyBlocks } from './key-blocks.ts';

function start(secret = 'the secret of the database') {
  const clock = createFakeClock();
  const database = { isUp: false };
  const blocks = createKeyBlocks({ clock, secret: () => secret, isDatabaseUp: () => database.isUp });
  return { ...blocks, clock, database };
}

const block = { keyId: 'key_a', status: 'suspended', at: 5 } as const;

it('holds the status of a key while the database is down, and a minute longer', () => {
  const { add, statusOf, texts, clock, database } = start();
  add(block);
  clock.advance(3_600_000);
  expect(statusOf('key_a')).toBe('suspended');
  expect(statusOf('key_b')).toBeUndefined();
  // The look that is taken twice a second.
  texts();
  database.isUp = true;
  clock.advance(59_999);
  expect(statusOf('key_a')).toBe('suspended');
  expect(texts()).toHaveLength(1);
  clock.advance(1);
  expect(statusOf('key_a')).toBeUndefined();
  expect(texts()).toEqual([]);
});

it('holds the later of two', () => {
  const { add, statusOf } = start();
  add({ ...block, status: 'revoked', at: 6 });
  add(block);
  expect(statusOf('key_a')).toBe('revoked');
  add({ ...block, status: 'active', at: 7 });
  expect(statusOf('key_a')).toBe('active');
});

it('takes those that another replica has signed, and nothing else', () => {
  const [one, other, stranger] = [start(), start(), start('another secret')];
  one.add(block);
  const [text = ''] = one.texts();
  for (const forged of [text.replace('suspended', 'active'), text.replace('key_a', 'key_b'), '', 'key_a', `${text}x`]) {
    other.take(forged);
  }
  stranger.take(text);
  expect([other.statusOf('key_a'), other.statusOf('key_b'), stranger.statusOf('key_a')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  other.take(text);
  expect(other.statusOf('key_a')).toBe('suspended');
});
