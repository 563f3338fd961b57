import { describe, expect, it } from 'vitest';
import { rateAsk } from '../../../test/support/bucket-law.ts';
import { chanceFrom } from '../../../test/support/chance.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { replicasOf } from '../../../test/support/virtual-replicas.ts';
import type { Limits, LimitsAsk, Slot } from '../../core/limits.ts';
import { createMemoryLimits } from './memory.ts';
import { tightest } from './rate-buckets.ts';

const perMinute = 10_000;
const roomy = { rate: 1e6, burst: 1e6 };
/** A request that nothing but its limit in tokens holds back. */
const asking = (fields: Partial<LimitsAsk> = {}): LimitsAsk =>
  rateAsk({ ...roomy, tokens: [{ id: 'key:key-1', by: 'tokens', perMinute }], ...fields });

/** Services that share their limits, in virtual time. */
interface World {
  readonly replicas: readonly Limits[];
  readonly run: (ms: number) => Promise<void>;
  readonly answered: <Value>(answer: Value | Promise<Value>) => Promise<Value>;
  readonly valkey?: Awaited<ReturnType<typeof replicasOf>>['valkey'];
}

async function inMemory(): Promise<World> {
  const clock = createFakeClock();
  const answered = async <Value>(answer: Value | Promise<Value>): Promise<Value> => answer;
  return { replicas: [createMemoryLimits(clock)], run: async (ms) => clock.advance(ms), answered };
}

async function shared(): Promise<World> {
  const { limits, run, answered, valkey } = await replicasOf(3);
  return { replicas: limits, run, answered, valkey };
}

/** Admits and reserves on a replica. The slot, or what refuses it with the seconds after which it may be sent again. */
async function dispatch(
  { replicas, answered }: World,
  { replica = 0, expected, ask = asking() }: { replica?: number; expected: number; ask?: LimitsAsk },
): Promise<Slot | { readonly by: string; readonly waitSeconds: number | undefined }> {
  const result = await answered(replicas[replica % replicas.length]!.admit(ask));
  if (result.kind === 'refused') return { by: result.by, waitSeconds: result.tokens?.nextSeconds };
  const { slot } = result;
  const short = await answered(slot.reserve(0n, ask.funds, { tokens: expected }));
  if (short === undefined) return slot;
  await answered(slot.release());
  return { by: short, waitSeconds: slot.tokens?.()?.nextSeconds };
}

const isSlot = (result: object): result is Slot => 'release' in result;

describe.each([
  ['one replica', inMemory],
  ['three replicas', shared],
])('tokens a minute on %s', (_, begin) => {
  it.each([
    ['as long as expected', 300, 300],
    ['shorter than expected', 300, 30],
    ['longer than expected', 300, 900],
    ['each more than a whole minute allows', 30_000, 30_000],
  ])('let 64 at once pass until nothing is left, so at most one is over: answers %s', async (__, expected, used) => {
    const world = await begin();
    const all = await Promise.all(
      Array.from({ length: 64 }, async (___, replica) => dispatch(world, { replica, expected })),
    );
    const slots = all.filter(isSlot);
    expect(slots).toHaveLength(Math.ceil(perMinute / expected));
    expect(all.filter((each) => !isSlot(each)).every((each) => 'by' in each && each.by === 'tokens')).toBe(true);
    for (const slot of slots) await world.answered(slot.release(undefined, { tokens: used }));
    await world.run(1_000);
    // What was used is what counts: the next one passes if something is left of it, and not before.
    const left = perMinute - slots.length * used;
    const next = await dispatch(world, { expected: 1 });
    expect(isSlot(next)).toBe(left > 0);
    if (isSlot(next) || left <= 0) return;
    expect(next.waitSeconds).toBeCloseTo((1 - left) / (perMinute / 60), -1);
  });

  it('stay within 1 % of the limit over 30 minutes of callers that always have more to ask', async () => {
    const world = await begin();
    const chance = chanceFrom(7);
    let [used, isOver] = [0, false];
    const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
    let now = 0;
    const sleep = (ms: number): Promise<void> => new Promise((wake) => sleepers.push({ at: now + ms, wake }));
    async function call(replica: number): Promise<void> {
      while (!isOver) {
        const slot = await dispatch(world, { replica, expected: 250 });
        if (!isSlot(slot)) {
          await sleep(1000 * (slot.waitSeconds ?? 1));
          continue;
        }
        const tokens = 50 + chance.below(400);
        await sleep(500);
        slot.adjust(0n, { tokens: Math.max(250, Math.floor(tokens * 0.9)) });
        await sleep(500);
        used += tokens;
        await world.answered(slot.release(undefined, { tokens }));
      }
    }
    const callers = Array.from({ length: 12 }, async (__, replica) => call(replica));
    const step = async (untilMs: number): Promise<void> => {
      for (; now < untilMs; now += 100) {
        await world.run(100);
        for (const due of sleepers.filter(({ at }) => at <= now)) {
          sleepers.splice(sleepers.indexOf(due), 1);
          due.wake();
        }
      }
    };
    // The minute that a bucket holds at first is used up.
    await step(3 * 60_000);
    const before = used;
    await step(33 * 60_000);
    expect(Math.abs((used - before) / (30 * perMinute) - 1)).toBeLessThan(0.01);
    isOver = true;
    while (sleepers.length > 0) await step(now + 1_000);
    await Promise.all(callers);
  });

  it('count what a stream runs past its estimate while it runs', async () => {
    const world = await begin();
    const stream = await dispatch(world, { expected: 1_000 });
    if (!isSlot(stream)) throw new Error('was refused');
    expect(stream.tokens?.()?.remaining).toBe(9_000);
    stream.adjust(0n, { tokens: 12_000 });
    await world.run(200);
    expect(await dispatch(world, { replica: 1, expected: 1 })).toMatchObject({ by: 'tokens', waitSeconds: 12 });
    await world.run(12_000);
    expect(isSlot(await dispatch(world, { replica: 1, expected: 1 }))).toBe(true);
  });

  it('are given back by a request that fails, and not taken by one that is refused', async () => {
    const world = await begin();
    const failed = await dispatch(world, { expected: 9_999 });
    const poor = asking({ funds: { balance: 1n } });
    const result = await world.answered(world.replicas[0]!.admit(poor));
    if (result.kind === 'refused' || !isSlot(failed)) throw new Error('was refused');
    expect(await world.answered(result.slot.reserve(1n, { balance: 0n }, { tokens: 5_000 }))).toBe('balance');
    await world.answered(result.slot.release());
    await world.answered(failed.release());
    await world.run(200);
    const next = await dispatch(world, { replica: 1, expected: 0 });
    expect(isSlot(next) && next.tokens?.()).toMatchObject({ limit: perMinute, remaining: perMinute, resetSeconds: 0 });
  });

  it('that are not enforced let all pass, mark those that are over, and count only the others', async () => {
    const world = await begin();
    const ask = asking({ notEnforced: ['tokens', 'rate', 'concurrency'], burst: 10, rate: 0.01, maxInFlight: 20 });
    const all = await Promise.all(
      Array.from({ length: 64 }, async (__, replica) => dispatch(world, { replica, expected: 1_000, ask })),
    );
    const slots = all.filter(isSlot);
    expect(slots).toHaveLength(64);
    const marked = (name: string): number =>
      slots.filter((slot) => slot.wouldRefuse?.().includes(name as never)).length;
    expect(['rate', 'concurrency', 'tokens'].map(marked)).toEqual([54, 44, 54]);
    for (const slot of slots) await world.answered(slot.release(undefined, { tokens: 1_000 }));
    await world.run(1_000);
    const next = await dispatch(world, { expected: 1, ask });
    // Of those that are over, nothing is owed.
    expect(isSlot(next) && next.tokens?.()?.remaining).toBeGreaterThan(150);
  });

  it('of a workspace are shared by its keys, and the tighter limit is shown', async () => {
    const world = await begin();
    const ofKey = (key: string): LimitsAsk => ({
      ...asking({ keyId: key }),
      tokens: [
        { id: `key:${key}`, by: 'tokens', perMinute: 8_000 },
        { id: 'ws:ws-1', by: 'workspace-tokens', perMinute },
      ],
    });
    const first = await dispatch(world, { expected: 6_000, ask: ofKey('a') });
    expect(isSlot(first) && first.tokens?.()).toMatchObject({ limit: 8_000, remaining: 2_000 });
    const second = await dispatch(world, { replica: 1, expected: 5_000, ask: ofKey('b') });
    expect(isSlot(second) && second.tokens?.()).toMatchObject({ limit: perMinute, remaining: 0, nextSeconds: 7 });
    const third = await dispatch(world, { replica: 2, expected: 1, ask: ofKey('b') });
    expect(third).toEqual({ by: 'workspace-tokens', waitSeconds: 7 });
  });
});

describe.each(['away', 'slow'] as const)('while Valkey is %s', (trouble) => {
  it('three replicas together let no more pass than one of them would, and an answer more each', async () => {
    const world = await shared();
    world.valkey?.setTrouble(trouble);
    await world.run(10_000);
    const all = await Promise.all(
      Array.from({ length: 64 }, async (_, replica) => dispatch(world, { replica, expected: 300 })),
    );
    const passed = all.filter(isSlot);
    expect(passed.length).toBeGreaterThanOrEqual(perMinute / 300);
    expect(passed.length).toBeLessThanOrEqual(3 * Math.ceil(perMinute / 3 / 300));
  });
});

it('tokens that Valkey reserves too late are given back', async () => {
  const world = await shared();
  const ask = asking();
  const result = await world.answered(world.replicas[0]!.admit(ask));
  if (result.kind === 'refused') throw new Error('was refused');
  world.valkey?.setTrouble('slow');
  expect(await world.answered(result.slot.reserve(0n, ask.funds, { tokens: 5_000 }))).toBeUndefined();
  world.valkey?.setTrouble('none');
  await world.answered(result.slot.release(undefined, { tokens: 5_000 }));
  await world.run(5_000);
  const next = await dispatch(world, { replica: 1, expected: 0 });
  expect(isSlot(next) && next.tokens?.()?.remaining).toBe(perMinute);
});

it.each([
  ['while Valkey is away', 1_000],
  ['in a message that Valkey never gets', 0],
])('tokens that are given back %s are back when it is', async (_, awayForMs) => {
  const world = await shared();
  const slot = await dispatch(world, { expected: perMinute * 50 });
  if (!isSlot(slot)) throw new Error(`refused by ${slot.by}`);
  const begin = (): void => world.valkey?.setTrouble('away');
  if (awayForMs > 0) begin();
  await world.run(awayForMs);
  const released = slot.release(undefined, { tokens: 10 });
  if (awayForMs === 0) begin();
  await world.answered(released);
  await world.run(5_000);
  world.valkey?.setTrouble('none');
  await world.run(5_000);
  const next = await dispatch(world, { replica: 1, expected: 0 });
  expect(isSlot(next) && next.tokens?.()?.remaining).toBe(perMinute);
});

it.each([
  ['the least left', [50_000, 59_500], 600],
  ['the longest wait of those with nothing left', [70_000, 60_000], 60],
  ['the longest wait of those with nothing left', [60_000, 80_000], 600],
])('the status of several limits is that with %s', (_, fullInMs, expected) => {
  const limits = [60, 600].map((size) => ({ id: `key:${size}`, by: 'tokens' as const, perMinute: size }));
  expect(tightest(limits, (__, at) => fullInMs[at]!)?.limit).toBe(expected);
});
