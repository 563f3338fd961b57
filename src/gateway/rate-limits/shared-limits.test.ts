import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../test/simulation/program.ts';
import { createScheduler } from '../../../test/simulation/scheduler.ts';
import { createValkey } from '../../../test/simulation/valkey.ts';
import { rateAsk } from '../../../test/support/bucket-law.ts';
import type { LimitsAsk, Slot } from '../../core/limits.ts';
import { createValkeyLimits } from './valkey.ts';

/** Replicas that share their limits, by a model of Valkey in virtual time. */
async function replicasOf(count: number) {
  const scheduler = createScheduler();
  const valkey = createValkey(scheduler);
  let names = 0;
  const programs = Array.from({ length: count }, (_, number) => createProgram(`replica-${number}`, scheduler, 0));
  const limits = programs.map((program) =>
    createValkeyLimits({
      address: { kind: 'server', url: 'redis://valkey' },
      connect: () => valkey.connect(program),
      clock: program.time,
      nextTurn: program.time.nextTurn,
      newId: () => `name${(names += 1)}`,
      expectedReplicas: count,
      onUp: () => undefined,
      onDown: () => undefined,
    }),
  );
  const run = (ms: number) => scheduler.runUntil(scheduler.now() + ms, () => undefined);
  /** Lets time go on until there is an answer. */
  async function answered<Value>(answer: Value | Promise<Value>): Promise<Value> {
    let isOver = false;
    void Promise.resolve(answer).finally(() => (isOver = true));
    while (!isOver) await run(1);
    return answer;
  }
  async function admitted(replica: number, ask: LimitsAsk): Promise<Slot> {
    const result = await answered(limits[replica]!.admit(ask));
    if (result.kind === 'refused') throw new Error(`refused for its ${result.by}`);
    return result.slot;
  }
  await run(3_000);
  expect(limits.map(({ link }) => [link.isUp(), link.replicas()])).toEqual(limits.map(() => [true, count]));
  /** The counts of Valkey, without those that are zero. */
  const counted = () =>
    Object.fromEntries(
      [...valkey.underWay()]
        .filter(([, { places, reserved }]) => places > 0 || reserved > 0)
        .map(([hash, sums]) => [hash, sums]),
    );
  return { valkey, programs, run, answered, admitted, counted };
}

const cost = 1_000n;
const [balance, budget] = [9n * cost, 6n * cost];
/** A request with little of each limit, so that Valkey is asked about each. */
const poor = rateAsk({
  ...{ rate: 1_000, burst: 1_000, maxInFlight: 256 },
  funds: { balance, budget, tags: [{ tag: 'team=search', left: budget }] },
});
const heldByOne = { places: 1, reserved: Number(cost) };
const ofOne = {
  'weir:ws:ws-1': heldByOne,
  'weir:key:key-1': { places: 0, reserved: Number(cost) },
  'weir:tag:ws-1:team=search': { places: 0, reserved: Number(cost) },
};

type World = Awaited<ReturnType<typeof replicasOf>>;

describe.each<[string, (world: World) => Promise<void> | void]>([
  ['nothing has happened', () => undefined],
  ['Valkey has lost its memory', ({ valkey }) => valkey.forget()],
  [
    'Valkey was away',
    async ({ valkey, run }) => {
      valkey.setTrouble('away');
      await run(5_000);
      valkey.setTrouble('none');
    },
  ],
  [
    'Valkey was slow',
    async ({ valkey, run }) => {
      valkey.setTrouble('slow');
      await run(5_000);
      valkey.setTrouble('none');
    },
  ],
  [
    'the replica was silent for longer than its lease',
    async ({ programs, run }) => {
      programs[0]!.pause(10_000);
      await run(10_000);
    },
  ],
])('when %s', (_, trouble) => {
  it('Valkey counts what a replica has under way: the place, the balance, and each budget', async () => {
    const world = await replicasOf(2);
    const { admitted, answered, run, counted } = world;
    const slot = await admitted(0, poor);
    expect(await answered(slot.reserve(cost, poor.funds))).toBeUndefined();
    await trouble(world);
    await run(5_000);
    expect(counted()).toEqual(ofOne);
    await answered(slot.release());
    await run(5_000);
    expect(counted()).toEqual({});
  });
});

it.each([1, 2, 3])(
  'a place that Valkey gave too late is counted once, and given back: %i requests',
  async (requests) => {
    const { valkey, admitted, answered, run, counted } = await replicasOf(2);
    valkey.setTrouble('slow');
    const asked = await Promise.all(Array.from({ length: requests }, () => admitted(0, poor)));
    valkey.setTrouble('none');
    await run(5_000);
    expect(counted()['weir:ws:ws-1']?.places).toBe(requests);
    for (const slot of asked) await answered(slot.release());
    await run(5_000);
    expect(counted()).toEqual({});
  },
);

it.each([false, true])('no fund refuses a request that is free, while Valkey is away: %s', async (isAway) => {
  const { valkey, admitted, answered, run, counted } = await replicasOf(2);
  if (isAway) valkey.setTrouble('away');
  const funds = { balance: 0n, budget: 0n, tags: [{ tag: 'team=search', left: 0n }] };
  await expect(admitted(0, { ...poor, funds })).rejects.toThrow('refused for its balance');
  const slot = await admitted(0, { ...poor, funds, isFree: true });
  await answered(slot.release());
  valkey.setTrouble('none');
  await run(5_000);
  expect(counted()).toEqual({});
});

describe.each(['away', 'slow'] as const)('while Valkey is %s', (trouble) => {
  const rich = 100n * cost;
  describe.each<[string, LimitsAsk, number]>([
    ['its balance', { ...poor, funds: { balance: 6n * cost } }, 6],
    ['the budget of its key', { ...poor, funds: { balance: rich, budget: 6n * cost } }, 6],
    ['the budget of a tag', { ...poor, funds: { balance: rich, tags: [{ tag: 'a=1', left: 6n * cost }] } }, 6],
    ['its places', { ...poor, maxInFlight: 9, funds: { balance: rich } }, 9],
  ])('three replicas together dispatch no more than %s allows', (_, ask, most) => {
    it.each(['one after the other', 'all at once'])('of requests that come %s', async (how) => {
      const { valkey, admitted, answered, run } = await replicasOf(3);
      valkey.setTrouble(trouble);
      // A link counts as down after three late answers in a row.
      await run(10_000);
      let dispatched = 0;
      const dispatch = async (slot: Slot | undefined): Promise<void> => {
        if (slot !== undefined && (await answered(slot.reserve(cost, ask.funds))) === undefined) dispatched += 1;
      };
      const admitSome = async (request: number) => admitted(request % 3, ask).catch(() => undefined);
      const slots: (Slot | undefined)[] = [];
      for (let request = 0; request < 36; request += 1) {
        const slot = await admitSome(request);
        if (how === 'all at once') slots.push(slot);
        else await dispatch(slot);
      }
      for (const slot of slots) await dispatch(slot);
      expect(dispatched).toBe(most);
    });
  });
});
