import { expect, it } from 'vitest';
import { shareBlocks } from './shared-blocks.ts';
import type { Subscription } from './valkey-client.ts';
import type { ValkeyLink } from './valkey-link.ts';

it.each<[unknown, readonly unknown[]]>([
  ['30000 192.0.2.1', [['192.0.2.1', 30_000]]],
  ['12 2001:db8::/64', [['2001:db8::/64', 12]]],
  ['30001 192.0.2.1', [['192.0.2.1', 30_000]]],
  ['999999999999999 192.0.2.1', [['192.0.2.1', 30_000]]],
  ['-5 192.0.2.1', []],
  ['12 not an address', []],
  ['192.0.2.1', []],
  [undefined, []],
])('the message %j blocks no longer than a block lasts here', (message, blocked) => {
  const found: unknown[] = [];
  let subscription: Subscription | undefined;
  const link: Partial<ValkeyLink> = {
    key: (name) => name,
    subscribe: (_, given) => {
      subscription = given;
    },
  };
  shareBlocks({
    link: link as ValkeyLink,
    ...{ tolerated: 30, windowMs: 30_000, blockMs: 30_000 },
    block: (network, forMs) => void found.push([network, forMs]),
  });
  subscription?.take(message as string);
  expect(found).toEqual(blocked);
});

it.each([
  [false, '192.0.2.1', 0],
  [true, '192.0.2.1', 1],
  [true, 'not an address', 0],
])('with a link that is up: %s, a failure of %s is sent %i times', (isUp, network, times) => {
  let sent = 0;
  const link: Partial<ValkeyLink> = {
    ...{ key: (name) => name, subscribe: () => undefined, isUp: () => isUp },
    run: () => {
      sent += 1;
      return Promise.resolve(1);
    },
  };
  shareBlocks({
    link: link as ValkeyLink,
    ...{ tolerated: 30, windowMs: 30_000, blockMs: 30_000, block: () => undefined },
  })(network);
  expect(sent).toBe(times);
});
