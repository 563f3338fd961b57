import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import type { ValkeyClient } from './valkey-client.ts';
import { createValkeyLink } from './valkey-link.ts';

const timeoutMs = 50;

/** A link to a server that answers heartbeats at once, and everything else when the test says so. */
function begin() {
  const clock = createFakeClock();
  let made = 0;
  const client: ValkeyClient = {
    isReady: () => true,
    run: () => Promise.resolve([1, 3]),
    listen: ({ ready }) => ready(),
    reconnect: () => undefined,
    subscribe: () => undefined,
    close: () => undefined,
  };
  const link = createValkeyLink(client, undefined, {
    clock,
    newId: () => `replica${(made += 1)}`,
    timeoutMs,
    onUp: () => undefined,
    onDown: () => undefined,
  });
  const ask = () => {
    const reply = Promise.withResolvers<unknown>();
    return { ...reply, inTime: link.inTime(reply.promise) };
  };
  return { clock, link, ask };
}

describe('a reply of the limits’ server', () => {
  it('is waited for, and counts as late after that', async () => {
    const { clock, link, ask } = begin();
    await expect.poll(link.isUp).toBe(true);
    const { inTime } = ask();
    clock.advance(timeoutMs);
    expect(await inTime).toEqual({ kind: 'none' });
    expect(link.late()).toBe(1);
  });

  it('is not late when it arrived while this process was held up', async () => {
    const { clock, link, ask } = begin();
    await expect.poll(link.isUp).toBe(true);
    for (let time = 0; time < 5; time += 1) {
      const { inTime, resolve } = ask();
      await clock.holdUp(900, () => resolve('here'));
      expect(await inTime).toEqual({ kind: 'reply', value: 'here' });
    }
    expect([link.late(), link.isUp()]).toEqual([0, true]);
  });

  it('takes the link down when three in a row are late', async () => {
    const { clock, link, ask } = begin();
    await expect.poll(link.isUp).toBe(true);
    const asked = [ask(), ask(), ask()];
    clock.advance(timeoutMs);
    expect(await Promise.all(asked.map(({ inTime }) => inTime))).toEqual(asked.map(() => ({ kind: 'none' })));
    expect([link.late(), link.isUp()]).toEqual([3, false]);
  });
});
