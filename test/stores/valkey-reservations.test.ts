import { afterEach, expect, it } from 'vitest';
import type { LimitsAsk, Slot } from '../../src/core/limits.ts';
import { rateAsk } from '../support/bucket-law.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startValkey } from '../support/valkey.ts';
import { forFile } from '../support/for-file.ts';

// What requests are expected to cost, reserved over several replicas: in the unit `cost`, one answer's price.

let replicas: Replica[] = [];
let asks = 0;

const valkey = await forFile(startValkey());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
});

/** Replicas that wait for the server as long as it takes: on a busy machine, too, each decision is the server's. */
const patient = { timeoutMs: 30_000 };

async function startAll(
  count: number,
  options: Parameters<typeof startReplica>[1] = patient,
): Promise<readonly Replica[]> {
  replicas = Array.from({ length: count }, () => startReplica(valkey.url, options));
  await Promise.all(replicas.map((replica) => replica.up()));
  const known = (): readonly number[] => replicas.map(({ limits }) => limits.link.replicas());
  await expect.poll(known).toEqual(replicas.map(() => count));
  return replicas;
}

/** A workspace and a key that no other test has used. */
function freshAsk(fields: Partial<LimitsAsk>): LimitsAsk {
  asks += 1;
  return rateAsk({ keyId: `key-of-${asks}`, workspaceId: `ws-of-${asks}`, maxInFlight: 256, ...fields });
}

const cost = 1_000_000n;

/** Asks 64 times at once, over all replicas by turns. Gives the places of those that may be dispatched. */
async function dispatch64(ask: LimitsAsk, reserved: bigint): Promise<readonly Slot[]> {
  const all = Array.from({ length: 64 }, async (_, index) => {
    const result = await replicas[index % replicas.length]?.admit(ask);
    if (result?.kind !== 'admitted') return [];
    if ((await result.slot.reserve(reserved, ask.funds)) === undefined) return [result.slot];
    await result.slot.release();
    return [];
  });
  return (await Promise.all(all)).flat();
}

async function releaseAll(slots: readonly Slot[]): Promise<void> {
  await Promise.all(slots.map(async (slot) => slot.release()));
}

it.each<[string, (credit: bigint) => LimitsAsk['funds']]>([
  ['balance', (credit) => ({ balance: credit })],
  ['budget', (credit) => ({ balance: 1_000n * cost, budget: credit })],
])('of 64 requests at once on a %s for three answers, three are dispatched, in 20 runs of 20', async (_, funds) => {
  await startAll(3);
  for (let run = 0; run < 20; run += 1) {
    const ask = freshAsk({ funds: funds(3n * cost) });
    const slots = await dispatch64(ask, cost);
    expect(slots.length).toBeLessThanOrEqual(3);
    expect(slots.length).toBeGreaterThanOrEqual(1);
    await releaseAll(slots);
    // What a refused request had claimed for a moment is taken back without waiting for the server.
    await expect.poll(() => replicas[run % 3]?.result(ask)).toBe('admitted');
  }
});

it('of 64 requests at once whose output nobody expects, all are dispatched', async () => {
  await startAll(3);
  const slots = await dispatch64(freshAsk({ funds: { balance: 3n * cost } }), 1n);
  expect(slots).toHaveLength(64);
  await releaseAll(slots);
});

it('a caller who asks one after the other, on whichever replica, is never refused for what its last request had reserved', async () => {
  const all = await startAll(3);
  const ask = freshAsk({ rate: 10_000, burst: 10_000, funds: { balance: cost / 10n } });
  for (let request = 0; request < 300; request += 1) {
    const slot = await all[request % 3]?.slot(ask);
    expect(await slot?.reserve(cost, ask.funds)).toBeUndefined();
    await slot?.release(() => ask.funds);
  }
});

it('a workspace with more than all its reservations is not refused, and the server is not asked about its money', async () => {
  await startAll(3);
  const ask = freshAsk({ funds: { balance: 257n * cost } });
  const slots = await dispatch64(ask, cost);
  expect(slots).toHaveLength(64);
  expect(slots[0]?.reserve(cost, ask.funds)).toBeUndefined();
  await releaseAll(slots);
});

it('what a request had reserved of a budget that its key got while the request ran is free again on every replica', async () => {
  const [one, two] = await startAll(2);
  if (one === undefined || two === undefined) throw new Error('two were started');
  const ask = freshAsk({ funds: { balance: 1_000n * cost } });
  const limited = { ...ask.funds, budget: cost };
  const slot = await one.slot(ask);
  expect(await slot.reserve(cost, limited)).toBeUndefined();
  const limitedAsk = { ...ask, funds: limited };
  expect(await two.result(limitedAsk)).toBe('budget');
  await slot.release(() => limited);
  await expect.poll(() => two.result(limitedAsk)).toBe('admitted');
});

it('without the server each replica reserves from its share of what is left', async () => {
  const all = await startAll(3);
  const ask = freshAsk({ funds: { balance: 9n * cost, budget: 6n * cost } });
  await valkey.kill();
  await Promise.all(all.map((replica) => replica.down()));
  // Two of the budget's six on each of the three.
  expect(await dispatch64(ask, cost)).toHaveLength(6);
  const poor = freshAsk({ funds: { balance: 1n } });
  // The least that is left admits one on each, as it does on one.
  expect(await dispatch64(poor, cost)).toHaveLength(3);
  await valkey.start();
});

it('while the server hangs each replica reserves from its share of what is left', async () => {
  const [one, two] = await startAll(2, {});
  if (one === undefined || two === undefined) throw new Error('two were started');
  const ask = freshAsk({ funds: { balance: 6n * cost } });
  const slots: Slot[] = [];
  for (let pair = 0; pair < 10; pair += 1) slots.push(await one.slot(ask), await two.slot(ask));
  valkey.freeze();
  try {
    const results = await Promise.all(slots.map(async (slot) => slot.reserve(cost, ask.funds)));
    expect(results.filter((short) => short === undefined)).toHaveLength(6);
  } finally {
    valkey.thaw();
  }
  await releaseAll(slots);
});
