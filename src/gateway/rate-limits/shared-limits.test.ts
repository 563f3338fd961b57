import { describe, expect, it } from 'vitest';
import { rateAsk } from '../../../test/support/bucket-law.ts';
import { replicasOf } from '../../../test/support/virtual-replicas.ts';
import type { LimitsAsk, Slot } from '../../core/limits.ts';

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
