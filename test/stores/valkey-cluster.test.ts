import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LimitsAsk } from '../../src/core/limits.ts';
import { shareBlocks } from '../../src/gateway/rate-limits/shared-blocks.ts';
import { clusterTags, tagNumber } from '../../src/gateway/rate-limits/valkey.ts';
import { rateAsk } from '../support/bucket-law.ts';
import { startValkeyCluster } from '../support/valkey-cluster.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { untilQuick } from '../support/until-quick.ts';
import { forFile } from '../support/for-file.ts';

let replicas: Replica[] = [];
let asks = 0;

const cluster = await forFile(startValkeyCluster());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
});

async function start(count: number, options: Parameters<typeof startReplica>[1] = { timeoutMs: 30_000 }) {
  const started = times(count, () => startReplica(cluster.url, options));
  replicas.push(...started);
  await Promise.all(started.map((replica) => replica.up()));
  await expect.poll(() => started.map(({ limits }) => limits.link.replicas())).toEqual(started.map(() => count));
  return started;
}

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** The hash in which a workspace's requests under way are. */
const hashOf = (workspaceId: string): string => `weir:{${clusterTags[tagNumber(workspaceId)]}}:ws:${workspaceId}`;

/** A workspace and a key that no other test has used, which this master has. */
async function askAt(master: number, fields: Parameters<typeof rateAsk>[0] = {}): Promise<LimitsAsk> {
  for (;;) {
    asks += 1;
    const workspaceId = `ws-of-${asks}`;
    if ((await cluster.masterOf(hashOf(workspaceId))) === master)
      return rateAsk({ keyId: `key-of-${asks}`, workspaceId, ...fields });
  }
}

const underWay = ({ workspaceId }: LimitsAsk): Promise<readonly string[]> =>
  cluster.ask(hashOf(workspaceId), (client) => client.hkeys(hashOf(workspaceId)));

/** How many requests of a workspace the replicas that are alive have told the cluster of. */
async function requestsUnderWay(workspaceId: string, alive: readonly Replica[]): Promise<number> {
  // A decision, too, forgets what the dead have said.
  for (const replica of alive)
    await replica.result(rateAsk({ workspaceId, keyId: 'other', rate: 1_000, burst: 10_000 }));
  const fields = await cluster.ask(hashOf(workspaceId), (client) => client.hgetall(hashOf(workspaceId)));
  return Object.entries(fields).reduce((sum, [name, count]) => sum + (name.startsWith('n:') ? Number(count) : 0), 0);
}

it('the hash tags share the slots evenly', async () => {
  const sixteenths = await Promise.all(
    clusterTags.map((tag) => cluster.ask('x', async (client) => Number(await client.cluster('KEYSLOT', `{${tag}}`)))),
  );
  expect(sixteenths.map((slot) => Math.floor(slot / 1_024))).toEqual(times(16, (index) => index));
});

describe('on a cluster', () => {
  it.each([0, 1, 2])('rate, places and money hold over all replicas, for workspaces of master %i', async (master) => {
    const all = await start(3);
    const results = async (ask: LimitsAsk): Promise<readonly string[]> =>
      (await Promise.all(times(60, (index) => all[index % 3]!.admit(ask)))).map((result) =>
        result.kind === 'refused' ? result.by : 'admitted',
      );
    const count = (found: readonly string[], which: string): number => found.filter((each) => each === which).length;
    const rated = await results(await askAt(master, { rate: 1, burst: 20, maxInFlight: 100 }));
    expect([count(rated, 'admitted'), count(rated, 'rate')]).toEqual([20, 40]);
    const placed = await results(await askAt(master, { maxInFlight: 10 }));
    expect([count(placed, 'admitted'), count(placed, 'concurrency')]).toEqual([10, 50]);
    const paid = await askAt(master, { funds: { balance: 10n, budget: 10n } });
    const slots = await Promise.all(times(6, (index) => all[index % 3]!.slot(paid)));
    const short = await Promise.all(slots.map(async (slot) => slot.reserve(5n, paid.funds)));
    expect(short.filter((each) => each === undefined)).toHaveLength(2);
    for (const slot of slots) await slot.release();
    await expect.poll(() => underWay(paid)).not.toContainEqual(expect.stringMatching(/^[na]:/));
  });

  it('a master that was killed leaves each replica its share of its workspaces, the others are exact, and it comes back', async () => {
    const [one, two] = await start(2, { timeoutMs: 1_000 });
    const lost = await askAt(1, { maxInFlight: 6, rate: 1, burst: 100 });
    const whole = await askAt(2, { maxInFlight: 6 });
    const shared = await one!.slot(lost);
    onTestFinished(() => cluster.start(1));
    await cluster.kill(1);
    await Promise.all([one!.down(), two!.down()]);
    const slots = [
      ...[await one!.slot(lost), await one!.slot(lost)],
      ...(await Promise.all(times(3, () => two!.slot(lost)))),
    ];
    expect([await one!.result(lost), await two!.result(lost)]).toEqual(['concurrency', 'concurrency']);
    const exact = await Promise.all(times(6, (index) => [one!, two!][index % 2]!.slot(whole)));
    expect([await one!.result(whole), await two!.result(whole)]).toEqual(['concurrency', 'concurrency']);
    for (const slot of exact) await slot.release();

    await cluster.start(1);
    await Promise.all([one!.up(), two!.up()]);
    // Five of two replicas and the one of before the outage: each has said what it has under way.
    await expect.poll(() => two!.result(lost)).toBe('concurrency');
    await shared.release();
    await expect.poll(() => two!.result(lost)).toBe('admitted');
    for (const slot of slots) await slot.release();
    await expect.poll(() => requestsUnderWay(lost.workspaceId, [one!, two!])).toBe(0);
  });

  it('a master that hangs holds no request up for ever, after three not at all, and the others go on', async () => {
    const [replica] = await start(1, { timeoutMs: 50 });
    const [stuck, other] = [await askAt(2), await askAt(0, { maxInFlight: 1 })];
    const run = () => Promise.all(times(50, () => replica!.result(stuck)));
    onTestFinished(() => cluster.thaw(2));
    cluster.freeze(2);
    await run();
    await replica!.down();
    await untilQuick({ boundMs: 20, run });
    const slot = await replica!.slot(other);
    await expect.poll(() => underWay(other)).toContainEqual(expect.stringMatching(/^n:/));
    await slot.release();
    cluster.thaw(2);
    await replica!.up();
    expect(await replica!.result(stuck)).toBe('admitted');
    await expect.poll(() => requestsUnderWay(stuck.workspaceId, [replica!])).toBe(0);
  });

  it('a slot that moves to another master is followed, and nothing is counted twice or forgotten', async () => {
    const [one, two] = await start(2, { timeoutMs: 1_000 });
    const ask = await askAt(0, { maxInFlight: 6, rate: 1_000, burst: 10_000 });
    const slots = [await one!.slot(ask), await two!.slot(ask)];
    const ending = await two!.slot(ask);
    const { end } = await cluster.moveSlotOf(hashOf(ask.workspaceId));
    // ASK, and TRYAGAIN for a script of several keys one of which there is not: each replica has its share meanwhile.
    slots.push(await one!.slot(ask));
    await ending.release();
    await end();
    // MOVED.
    await Promise.all([one!.up(), two!.up()]);
    const { workspaceId } = ask;
    await expect.poll(() => requestsUnderWay(workspaceId, [one!, two!])).toBe(3);
    for (const replica of [two!, one!, two!]) slots.push(await replica.slot(ask));
    expect([await one!.result(ask), await two!.result(ask)]).toEqual(['concurrency', 'concurrency']);
    await slots[0]!.release();
    await expect.poll(() => two!.result(ask)).toBe('admitted');
    for (const slot of slots) await slot.release();
    await expect.poll(() => requestsUnderWay(workspaceId, [one!, two!])).toBe(0);
  });

  it('failed authentication is counted together, and told to all', async () => {
    const all = await start(3);
    const blocked: string[] = [];
    const failed = all.map(({ limits }, index) =>
      shareBlocks({
        ...{ link: limits.common, tolerated: 30, windowMs: 30_000, blockMs: 30_000 },
        block: (network) => blocked.push(`${index} ${network}`),
      }),
    );
    for (let count = 0; count < 31; count += 1) failed[count % 3]?.('198.51.100.9');
    await expect.poll(() => new Set(blocked)).toEqual(new Set(['0 198.51.100.9', '1 198.51.100.9', '2 198.51.100.9']));
  });
});
