import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
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

describe('a server that refuses heartbeats', () => {
  function beginRefused(answer: () => Promise<unknown>) {
    const clock = createFakeClock();
    let ready = (): void => undefined;
    let reconnects = 0;
    const client: ValkeyClient = {
      isReady: () => true,
      run: answer,
      listen: (calls) => {
        ({ ready } = calls);
      },
      reconnect: () => {
        reconnects += 1;
        ready();
      },
      subscribe: () => undefined,
      close: () => undefined,
    };
    const options = { clock, newId: () => 'a', timeoutMs, onUp: () => undefined, onDown: () => undefined };
    const link = createValkeyLink(client, undefined, options);
    return { clock, link, reconnects: () => reconnects };
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it.each(['READONLY', 'NOAUTH', 'LOADING', 'OOM', 'BUSY'])(
    'is left for whichever server has the address now, at most once a second: %s',
    async (error) => {
      let isRefusing = true;
      const answer = () => (isRefusing ? Promise.reject(new Error(`${error} refused`)) : Promise.resolve([0, 1]));
      const { clock, link, reconnects } = beginRefused(answer);
      for (let seconds = 0; seconds < 5; seconds += 1) {
        await settled();
        clock.advance(1000);
      }
      expect([reconnects(), link.isUp()]).toEqual([5, false]);
      isRefusing = false;
      await settled();
      clock.advance(1000);
      await settled();
      expect(link.isUp()).toBe(true);
    },
  );

  it('is not left while it only gives no answer', async () => {
    const { clock, reconnects } = beginRefused(() => new Promise(() => undefined));
    await settled();
    clock.advance(1000);
    expect(reconnects()).toBe(0);
  });
});
