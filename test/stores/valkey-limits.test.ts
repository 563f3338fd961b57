import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { expectTokenBucket, rateAsk } from '../support/bucket-law.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startValkey } from '../support/valkey.ts';
import type { Funds, Slot } from '../../src/core/limits.ts';
import { chanceFrom } from '../support/chance.ts';
import { untilHolds } from '../support/until-holds.ts';
import { untilQuick } from '../support/until-quick.ts';
import { forFile } from '../support/for-file.ts';

let replicas: Replica[] = [];
let asks = 0;

const valkey = await forFile(startValkey());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
});

/** A replica that waits for the server as long as it takes, so that on a busy machine, too, each decision is the server's. */
async function start(options: Parameters<typeof startReplica>[1] = {}): Promise<Replica> {
  const replica = startReplica(valkey.url, { timeoutMs: 30_000, ...options });
  replicas.push(replica);
  await replica.up();
  return replica;
}

/** A workspace and a key that no other test has used. */
function freshAsk(fields: Parameters<typeof rateAsk>[0] = {}) {
  asks += 1;
  return rateAsk({ keyId: `key-of-${asks}`, workspaceId: `ws-of-${asks}`, ...fields });
}

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));
const countOf = (results: readonly string[], which: string): number => results.filter((each) => each === which).length;

/** Resolves when each replica has been told how many there are; those of the tests before have left by then. */
async function knowEachOther(all: readonly Replica[]): Promise<void> {
  const known = (): readonly number[] => all.map(({ limits }) => limits.link.replicas());
  await expect.poll(known).toEqual(all.map(() => all.length));
}

describe('the bucket of a key', () => {
  it('does what the definition of a token bucket says', async () => {
    let timeMs = 1_000_000;
    const { limits } = await start({ timeMs: () => timeMs });
    await expectTokenBucket({
      limits: () => limits,
      advance: (ms) => {
        timeMs += ms;
      },
      runs: 60,
    });
  });

  it('is one for all replicas', async () => {
    const all = [await start(), await start(), await start()];
    const ask = freshAsk({ rate: 1, burst: 20 });
    const results = await Promise.all(times(60, (index) => all[index % 3]!.result(ask)));
    expect(countOf(results, 'admitted')).toBe(20);
    expect(countOf(results, 'rate')).toBe(40);
  });

  it('that is given a higher rate is empty at most, and fills at the new rate from then on', async () => {
    let timeMs = 1_000_000;
    const replica = await start({ timeMs: () => timeMs });
    const slow = freshAsk({ rate: 1, burst: 30 });
    const fast = { ...slow, rate: 100, burst: 200 };
    for (let request = 0; request < 30; request += 1) expect(await replica.result(slow)).toBe('admitted');
    expect([await replica.result(slow), await replica.result(fast)]).toEqual(['rate', 'rate']);
    timeMs += 10;
    expect([await replica.result(fast), await replica.result(fast)]).toEqual(['admitted', 'rate']);
  });

  it('is forgotten by the server when it is full', async () => {
    const replica = await start();
    const ask = freshAsk({ rate: 1000, burst: 2 });
    await replica.result(ask);
    await valkey.ask(async (client) => {
      await expect.poll(() => client.exists(`weir:rate:${ask.keyId}`)).toBe(0);
    });
  });
});

describe('the places of a workspace', () => {
  it('are counted over all replicas, and a request that finds none has cost no token', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ maxInFlight: 10 });
    const slots = await Promise.all(times(10, (index) => [one, two][index % 2]!.slot(ask)));
    const refused = await Promise.all(times(50, (index) => [one, two][index % 2]!.admit(ask)));
    expect(refused.map((result) => [result.kind, result.rate.remaining >= 190])).toEqual(
      times(50, () => ['refused', true]),
    );
    await slots[0]!.release();
    await expect.poll(() => two.result(ask)).toBe('admitted');
    for (const slot of slots) await slot.release();
    await valkey.ask(async (client) => {
      await expect.poll(() => client.hkeys(`weir:ws:${ask.workspaceId}`)).toEqual([]);
    });
  });

  it('free up for the next request of the same caller, one after the other', async () => {
    const replica = await start();
    const ask = freshAsk({ maxInFlight: 1, rate: 1000, burst: 1000 });
    for (let request = 0; request < 300; request += 1) expect(await replica.result(ask)).toBe('admitted');
  });

  it('of a replica that was killed are free again', async () => {
    const replica = await start();
    const script = join(import.meta.dirname, 'support', 'replica-process.ts');
    const child = spawn(process.execPath, [script, valkey.url, '5'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const ask = rateAsk({ maxInFlight: 5 });
    expect(await replica.result(ask)).toBe('concurrency');
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    await expect.poll(() => replica.result(ask)).toBe('admitted');
    // Nothing of the dead one is left, and nothing of what was asked since. The server tidies up when it is asked; one result
    // alone may have been the replica's own, on a machine so busy that the server's came too late.
    const left = async (): Promise<readonly string[]> => {
      await replica.result(ask);
      return valkey.ask((client) => client.hkeys('weir:ws:ws-1'));
    };
    await expect.poll(left).toEqual([]);
  });
});

describe('money under way', () => {
  it('stands against balance and budget on every replica, until it is settled', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ funds: { balance: 100n, budget: 60n } });
    const other = { ...ask, keyId: `${ask.keyId}-b`, funds: { balance: 100n } };
    const slot = await one.slot(ask);
    slot.adjust(60n);
    await expect.poll(() => two.result(ask)).toBe('budget');
    expect(await two.result(other)).toBe('admitted');
    slot.adjust(100n);
    await expect.poll(() => two.result(other)).toBe('balance');
    await slot.release();
    await expect.poll(() => two.result(ask)).toBe('admitted');
  });

  it('stands against no request that is free', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ funds: { balance: 100n, budget: 60n } });
    const slot = await one.slot(ask);
    slot.adjust(100n);
    await expect.poll(() => two.result(ask)).toBe('balance');
    expect(await two.result({ ...ask, isFree: true })).toBe('admitted');
    expect(await two.result({ ...ask, isFree: true, funds: { balance: 0n, budget: 0n } })).toBe('admitted');
    expect(await two.result({ ...ask, isFree: true, maxInFlight: 1 })).toBe('concurrency');
    await slot.release();
  });

  it('is taken once over all replicas by requests that were admitted side by side', async () => {
    const all = [await start(), await start(), await start()];
    const ask = freshAsk({ maxInFlight: 64, funds: { balance: 1_000n, budget: 60n } });
    const slots = await Promise.all(times(63, (index) => all[index % 3]!.slot(ask)));
    const results = await Promise.all(slots.map(async (slot) => slot.reserve(40n, ask.funds)));
    expect(results.filter((short) => short === undefined)).toHaveLength(2);
    expect(new Set(results)).toEqual(new Set([undefined, 'budget']));
    const keys = (): Promise<Record<string, string>> => valkey.ask((client) => client.hgetall(`weir:key:${ask.keyId}`));
    const reserved = async (): Promise<number> =>
      Object.entries(await keys()).reduce((sum, [name, value]) => sum + (name.startsWith('a:') ? Number(value) : 0), 0);
    // Those that were refused have left nothing behind.
    await expect.poll(reserved).toBe(80);
    for (const slot of slots) await slot.release();
    await expect.poll(keys).toEqual({});
    expect(await Promise.all(times(3, (index) => all[index]!.result(ask)))).toEqual(times(3, () => 'admitted'));
  });

  it('is taken from a balance as from a budget, and without asking where there is plenty of it', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ maxInFlight: 4, funds: { balance: 100n } });
    const slots = [await one.slot(ask), await two.slot(ask), await one.slot(ask)];
    expect(await slots[0]!.reserve(60n, ask.funds)).toBeUndefined();
    expect(await slots[1]!.reserve(60n, ask.funds)).toBeUndefined();
    expect(await slots[2]!.reserve(60n, ask.funds)).toBe('balance');
    const plenty = { balance: 1_000_000n };
    const rich = await one.slot({ ...ask, funds: plenty });
    expect(rich.reserve(60n, plenty)).toBeUndefined();
    for (const slot of [...slots, rich]) await slot.release();
  });

  it('is what all replicas have said, added up, whatever they do', async () => {
    const all = [await start(), await start(), await start()];
    const ask = freshAsk({ funds: { balance: 1_000_000n, budget: 900_000n } });
    const hashes = [`weir:ws:${ask.workspaceId}`, `weir:key:${ask.keyId}`] as const;
    const sums = (prefix: string, fields: Record<string, string>): number =>
      Object.entries(fields).reduce((sum, [name, value]) => sum + (name.startsWith(prefix) ? Number(value) : 0), 0);
    const chance = chanceFrom(3);
    const slots: Slot[] = [];
    for (let step = 0; step < 300; step += 1) {
      const replica = all[chance.below(3)]!;
      const slot = slots[chance.below(slots.length + 1)];
      if (slot === undefined || chance.is(0.4)) slots.push(await replica.slot(ask));
      else if (chance.is(0.5)) await slot.reserve(BigInt(chance.below(40_000)), ask.funds);
      else await slots.splice(slots.indexOf(slot), 1)[0]!.release();
    }
    const added = async (): Promise<readonly boolean[]> =>
      Promise.all(
        hashes.map(async (hash) => {
          const fields = await valkey.ask((client) => client.hgetall(hash));
          return Number(fields['+n']) === sums('n:', fields) && Number(fields['+a']) === sums('a:', fields);
        }),
      );
    await expect.poll(added).toEqual([true, true]);
    for (const slot of slots) await slot.release();
    await expect.poll(() => valkey.ask((client) => client.exists(...hashes))).toBe(0);
  });

  it('that was settled elsewhere counts before this replica has read it, and for no longer than a second', async () => {
    const [one, two] = [await start(), await start()];
    // A machine that stands still for a second sees the end alone.
    const ask = await untilHolds(async () => {
      const next = freshAsk({ funds: { balance: 100n, budget: 60n } });
      const slot = await one.slot(next);
      slot.adjust(60n);
      await slot.release(() => ({ balance: 40n, budget: 0n }));
      expect(await two.result(next)).toBe('budget');
      return next;
    });
    await expect.poll(() => two.result(ask)).toBe('admitted');
  });

  it('that was settled is told before its place is free, where it has to be read first and little is left', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ maxInFlight: 2, funds: { balance: 100n } });
    const slot = await one.slot(ask);
    await slot.reserve(90n, ask.funds);
    const read = Promise.withResolvers<Funds>();
    const released = slot.release(() => read.promise);
    const again = slot.release();
    // Still under way, as far as anybody can tell.
    const beside = { ...ask, funds: { balance: 90n } };
    await expect.poll(() => two.result(beside)).toBe('balance');
    read.resolve({ balance: 10n });
    await Promise.all([released, again]);
    await expect.poll(() => two.result(ask)).toBe('admitted');
    await valkey.ask(async (client) => {
      await expect.poll(() => client.hget(`weir:ws:${ask.workspaceId}`, 'left')).toBe('10');
    });
    const rich = freshAsk({ funds: { balance: 1_000_000_000n } });
    const other = await one.slot(rich);
    await other.reserve(90n, rich.funds);
    // Nobody is made to wait for what makes no difference.
    expect(other.release(() => new Promise(() => undefined))).toBeUndefined();
  });

  it('of two settlements in the wrong order is the lower', async () => {
    const [one, two] = [await start(), await start()];
    const ask = freshAsk({ funds: { balance: 100n } });
    const slots = [await one.slot(ask), await one.slot(ask)];
    await slots[0]!.release(() => ({ balance: 0n }));
    await expect.poll(() => two.result(ask)).toBe('balance');
    await slots[1]!.release(() => ({ balance: 50n }));
    expect(await one.result(ask)).toBe('balance');
  });

  it('is compared exactly where amounts are small, and well enough where they are huge', async () => {
    const replica = await start();
    const huge = 8_999_999_999_999_999_999n;
    const ask = freshAsk({ funds: { balance: huge } });
    const slot = await replica.slot(ask);
    slot.adjust(huge - 1_000_000n);
    expect(await replica.result(ask)).toBe('admitted');
    slot.adjust(huge);
    expect(await replica.result(ask)).toBe('balance');
  });
});

describe('a server that is away', () => {
  /** With the patience of a service. */
  const usual = { timeoutMs: 50 };

  it('leaves each replica its share, and takes over again with what is under way by then', async () => {
    const [one, two] = [await start(usual), await start(usual)];
    await knowEachOther([one, two]);
    const ask = freshAsk({ maxInFlight: 6, rate: 1, burst: 100 });
    const shared = await one.slot(ask);
    await valkey.kill();
    await Promise.all([one.down(), two.down()]);
    const slots = [await one.slot(ask), await one.slot(ask), ...(await Promise.all(times(3, () => two.slot(ask))))];
    expect([await one.result(ask), await two.result(ask)]).toEqual(['concurrency', 'concurrency']);
    await valkey.start();
    await Promise.all([one.up(), two.up()]);
    await expect.poll(() => two.result(ask)).toBe('concurrency');
    await shared.release();
    await expect.poll(() => two.result(ask)).toBe('admitted');
    for (const slot of slots) await slot.release();
    await expect.poll(() => valkey.ask((client) => client.hkeys(`weir:ws:${ask.workspaceId}`))).toEqual([]);
    expect([one.changes, two.changes]).toEqual([
      ['up', 'down', 'up'],
      ['up', 'down', 'up'],
    ]);
  });

  it('gives each replica its share of the rate', async () => {
    const [one, two] = [await start(usual), await start(usual)];
    await knowEachOther([one, two]);
    const ask = freshAsk({ rate: 2, burst: 40 });
    await valkey.kill();
    await Promise.all([one.down(), two.down()]);
    const all = await Promise.all(times(100, (index) => [one, two][index % 2]!.admit(ask)));
    expect(all.filter(({ kind }) => kind === 'admitted')).toHaveLength(40);
    expect(all.at(-1)).toMatchObject({
      kind: 'refused',
      by: 'rate',
      rate: { limit: 2, remaining: 0, resetSeconds: 20 },
    });
    await valkey.start();
  });

  it('that hangs holds no request up for ever, and after three not at all', async () => {
    const replica = await start(usual);
    const ask = freshAsk();
    valkey.freeze();
    try {
      const run = () => Promise.all(times(50, () => replica.result(ask)));
      await run();
      await replica.down();
      await untilQuick({ boundMs: 20, run });
    } finally {
      valkey.thaw();
    }
    await replica.up();
    expect(await replica.result(ask)).toBe('admitted');
    // What it was asked while it hung has left nothing behind. The server tidies up when it is asked.
    const left = async (): Promise<readonly string[]> => {
      await replica.result(ask);
      return valkey.ask((client) => client.hkeys(`weir:ws:${ask.workspaceId}`));
    };
    await expect.poll(left).toEqual([]);
  });

  it.each([
    ['alone', {}, 15],
    ['one of three', { expectedReplicas: 3 }, 5],
  ])('was never there when the service starts, which takes itself for %s', async (_, options, share) => {
    await valkey.kill();
    const replica = startReplica(valkey.url, options);
    replicas.push(replica);
    const ask = freshAsk({ rate: 1, burst: 15 });
    const results = await Promise.all(times(16, () => replica.result(ask)));
    expect(results).toEqual(times(16, (index) => (index < share ? 'admitted' : 'rate')));
    await valkey.start();
    await replica.up();
    expect(replica.limits.link.replicas()).toBe(1);
    expect(await replica.result(ask)).toBe('admitted');
  });

  it('has forgotten the scripts, or everything, and goes on', async () => {
    const replica = await start(usual);
    const ask = freshAsk({ maxInFlight: 2 });
    const slot = await replica.slot(ask);
    await valkey.ask((client) => client.script('FLUSH'));
    expect(await replica.result(ask)).toBe('admitted');
    await valkey.ask((client) => client.flushall());
    await slot.release();
    const again = [await replica.slot(ask), await replica.slot(ask)];
    await expect.poll(() => replica.result(ask)).toBe('concurrency');
    for (const each of again) await each.release();
    expect(replica.changes).not.toEqual([]);
  });
});
