import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createValkeyLimits } from './valkey.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a cluster is up while all of its servers answer, and each change is reported once', async () => {
  const clock = createFakeClock();
  const changes: string[] = [];
  /** Beginnings of hash tags whose servers refuse everything. */
  let refusing: readonly string[] = ['weir:{u', 'weir:{q'];
  const limits = createValkeyLimits({
    address: { kind: 'cluster', servers: [], login: { username: '', password: '' }, isEncrypted: false },
    ...{ clock, newId: () => 'a', nextTurn: (run: () => void) => run() },
    onUp: () => changes.push('up'),
    onDown: () => changes.push('down'),
    connect: () => ({
      isReady: () => true,
      run: (_, [key = '']) =>
        refusing.some((beginning) => key.startsWith(beginning))
          ? Promise.reject(new Error('CLUSTERDOWN'))
          : Promise.resolve([1, 1]),
      ...{ listen: () => undefined, reconnect: () => undefined, subscribe: () => undefined, close: () => undefined },
    }),
  });
  const after = async (next: readonly string[]) => {
    refusing = next;
    for (let second = 0; second < 3; second += 1) {
      await settled();
      clock.advance(1_000);
    }
    await settled();
    return [limits.link.isUp(), changes.join(' ')];
  };
  expect(await after(refusing)).toEqual([false, '']);
  expect(await after(['weir:{q'])).toEqual([false, '']);
  expect(await after([])).toEqual([true, 'up']);
  expect(await after(['weir:{q'])).toEqual([false, 'up down']);
  expect(await after(['weir:{q', 'weir:{u'])).toEqual([false, 'up down']);
  expect(await after(['weir:{u'])).toEqual([false, 'up down']);
  expect(await after([])).toEqual([true, 'up down up']);
  expect(await after(['weir:{q'])).toEqual([false, 'up down up down']);
});
