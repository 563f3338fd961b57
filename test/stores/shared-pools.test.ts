import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { PoolPrompt } from '../../src/core/pool-prompt.ts';
import { systemClock } from '../../src/process/clock.ts';
import { type SharedPools, sharePools } from '../../src/gateway/rate-limits/shared-pools.ts';
import { createPools, type Pools } from '../../src/gateway/routing/pool/pools.ts';
import { startValkey } from '../support/valkey.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { forFile } from '../support/for-file.ts';

let open: PoolReplica[] = [];

const valkey = await forFile(startValkey());
afterEach(async () => {
  for (const replica of open) replica.shared.close();
  await Promise.all(open.map(({ limits: { limits } }) => limits.link.close()));
  open = [];
  await valkey.ask((client) => client.flushall());
});

interface PoolReplica {
  readonly limits: Replica;
  readonly pools: Pools;
  readonly shared: SharedPools;
}

/** The pools of one replica, as `weir serve` puts them together. */
async function startPools(): Promise<PoolReplica> {
  const limits = startReplica(valkey.url);
  const pools = createPools({ isReported: true });
  const shared = sharePools({ link: limits.limits.common, clock: systemClock, newId: randomUUID, pools });
  const replica = { limits, pools, shared };
  open.push(replica);
  await limits.up();
  await expect.poll(shared.isShared).toBe(true);
  return replica;
}

const among = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'].map((name) => ({ name, success: 1 }));
const [one, two, three] = among.map(({ name }) => name);

const promptOf = (first: number, count: number): PoolPrompt => ({
  digests: Array.from({ length: count }, (_, index) => 2 ** 47 + first + index),
  ends: Array.from({ length: count }, (_, index) => (index + 1) * 250),
  tokens: count * 250 + 20,
});

const send = ({ pools }: PoolReplica, name: string | undefined, prompt: PoolPrompt) =>
  pools.of('cluster').begin(systemClock.elapsed(), { name: name ?? '', prompt, stream: true });

function picked({ pools }: PoolReplica, prompt: PoolPrompt) {
  const found = pools.of('cluster').pick(systemClock.elapsed(), { prompt, among, turn: 0.5 });
  return { name: among[found?.index ?? -1]?.name, heldTokens: found?.heldTokens };
}

describe('the pools of several replicas', () => {
  it('know on each of them where a prompt was sent, also on one that starts later', async () => {
    const [first, second] = [await startPools(), await startPools()];
    send(first, two, promptOf(0, 40)).completed(systemClock.elapsed(), undefined);
    const expected = { name: two, heldTokens: 10_000 };
    await expect.poll(() => picked(second, promptOf(0, 41))).toEqual(expected);
    const late = await startPools();
    await expect.poll(() => picked(late, promptOf(0, 41))).toEqual(expected);
  });

  it('spare the endpoints on which another replica works, and forget a replica that dies', async () => {
    const [first, second] = [await startPools(), await startPools()];
    send(first, one, promptOf(1000, 400));
    send(first, two, promptOf(2000, 400));
    await expect.poll(() => picked(second, promptOf(9000, 4)).name).toBe(three);
    send(second, three, promptOf(3000, 80));
    expect(picked(second, promptOf(9000, 4)).name).toBe(three);
    first.shared.close();
    await expect.poll(() => picked(second, promptOf(9000, 4)).name).not.toBe(three);
  });

  it('go on with what each replica knows while Valkey is down, and share again when it is back', async () => {
    const [first, second] = [await startPools(), await startPools()];
    await valkey.kill();
    await expect.poll(first.shared.isShared).toBe(false);
    send(first, two, promptOf(0, 40)).completed(systemClock.elapsed(), undefined);
    expect(picked(first, promptOf(0, 41)).name).toBe(two);
    expect(picked(second, promptOf(0, 41)).heldTokens).toBe(0);
    await valkey.start();
    await expect.poll(second.shared.isShared).toBe(true);
    await expect.poll(() => picked(second, promptOf(0, 41)).name).toBe(two);
  });

  it('keep a bounded number of reports on the server', async () => {
    const first = await startPools();
    await valkey.ask(async (client) => {
      const filler = client.pipeline();
      for (let at = 0; at < 5000; at += 1) filler.xadd('weir:pool-prompts', '*', 'r', 'gone', 't', '{}');
      await filler.exec();
    });
    send(first, one, promptOf(0, 4));
    await expect.poll(() => valkey.ask((client) => client.xlen('weir:pool-prompts'))).toBeLessThan(2300);
    expect(await valkey.ask((client) => client.pttl('weir:pool-prompts'))).toBeGreaterThan(0);
  });
});
