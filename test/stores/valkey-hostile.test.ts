import { afterEach, describe, expect, it } from 'vitest';
import { rateAsk } from '../support/bucket-law.ts';
import { startValkey } from '../support/valkey.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { shareBlocks } from '../../src/gateway/rate-limits/shared-blocks.ts';
import { forFile } from '../support/for-file.ts';

let replicas: Replica[] = [];

const valkey = await forFile(startValkey());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
  await valkey.ask((client) => client.flushall());
});

async function start(): Promise<Replica> {
  const replica = startReplica(valkey.url, { timeoutMs: 30_000 });
  replicas.push(replica);
  await replica.up();
  return replica;
}

const monthMs = 31 * 86_400_000;
/** The time of the scripts: milliseconds since a moment of 2023. */
const serverTime = async (): Promise<number> => {
  const [seconds = 0, micros = 0] = await valkey.ask((client) => client.time());
  return (Number(seconds) - 1_700_000_000) * 1000 + Number(micros) / 1000;
};

describe('what a server whose clock was a month ahead, and was set back, has kept', () => {
  it('of a replica that is gone takes no places once a living one has reported', async () => {
    const ask = rateAsk({ workspaceId: 'ws-ghost', keyId: 'key-ghost', maxInFlight: 1 });
    const ghost = async (aliveMs: number): Promise<void> => {
      const until = (await serverTime()) + aliveMs;
      await valkey.ask((client) => client.zadd('weir:replicas', until, 'ghost'));
      await valkey.ask((client) => client.hset('weir:ws:ws-ghost', 'n:ghost', 1));
    };
    const replica = await start();
    await ghost(3_000);
    // Twin: as long as it counts as alive, it has the only place.
    expect(await replica.result(ask)).toBe('concurrency');
    await ghost(monthMs);
    await expect.poll(() => replica.result(ask)).toBe('admitted');
    expect(replica.limits.link.replicas()).toBe(1);
  });

  it.each([
    ['the next request', 0, 'balance'],
    ['a month', monthMs, 'admitted'],
  ])('of the rest of a balance does not count for %s longer', async (_, aheadMs, result) => {
    const replica = await start();
    const ask = rateAsk({ workspaceId: `ws-${aheadMs}`, keyId: `key-${aheadMs}`, funds: { balance: 100n } });
    const at = (await serverTime()) + aheadMs;
    await valkey.ask((client) => client.hset(`weir:ws:${ask.workspaceId}`, 'left', '0', 'at', String(at)));
    expect(await replica.result(ask)).toBe(result);
  });
});

describe('a server that others write to', () => {
  it('blocks no text that is no address, and none for longer than a block lasts', async () => {
    const replica = await start();
    const blocked: [string, number][] = [];
    const subscribed = Promise.withResolvers<undefined>();
    const link = {
      ...replica.limits.common,
      subscribe: (...[channel, { take, listening }]: Parameters<typeof replica.limits.common.subscribe>) =>
        replica.limits.common.subscribe(channel, {
          take,
          listening: () => {
            listening();
            subscribed.resolve(undefined);
          },
        }),
    };
    shareBlocks({
      ...{ link, tolerated: 30, windowMs: 60_000, blockMs: 30_000 },
      block: (network, forMs) => blocked.push([network, forMs]),
    });
    await subscribed.promise;
    for (const message of ['x', `5 ${'f'.repeat(65)}`, '5 ws:1{}', '999999999999 203.0.113.7', '5 2001:db8::/64'])
      await valkey.ask((client) => client.publish('weir:blocked', message));
    await expect
      .poll(() => blocked)
      .toEqual([
        ['203.0.113.7', 30_000],
        ['2001:db8::/64', 5],
      ]);
  });

  it('and has another type in the place of a bucket refuses that key to nobody, and no other key', async () => {
    const replica = await start();
    const wrong = rateAsk({ workspaceId: 'ws-wrong', keyId: 'key-wrong', rate: 1, burst: 1 });
    await valkey.ask((client) => client.lpush('weir:rate:key-wrong', 'x'));
    expect(await replica.result(wrong)).toBe('admitted');
    expect(await replica.result(wrong)).toBe('rate');
    await replica.up();
    expect(await replica.result(rateAsk({ workspaceId: 'ws-right', keyId: 'key-right' }))).toBe('admitted');
  });
});
