import type { Chance } from '../programmable-engine/chance.ts';
import { crowdedKey, endingKey, heldKey, limitedKeys, rotatedKey, slowKey } from './accounts.ts';
import type { FaultEvent, IssuerEvent, OperatorEvent, RequestEvent, WorldEvent } from './events.ts';
import { placeTokens } from './placed-tokens.ts';
import { one, type Rarity } from './rare-events.ts';

const minuteMs = 60_000;

/** Where requests come from, and where they may be placed. */
interface Place {
  readonly draw: (id: number, at: number) => RequestEvent;
  readonly firstId: number;
  readonly lengthMs: number;
  readonly chance: Chance;
}

/** Requests at the bounds of promises: where a limit is full, a key has just ended, or the database has been away for nearly too long. */
export function placedEvents(rare: ReadonlySet<Rarity>, place: Place): readonly WorldEvent[] {
  const { draw, lengthMs, chance } = place;
  const events: WorldEvent[] = [];
  let id = place.firstId;
  const somewhere = (): number => 5_000 + chance() * Math.max(0, lengthMs - 200_000);
  const times = (count: number, run: () => void): void => Array.from({ length: count }).forEach(run);

  /** A request without trouble: its answer follows from its limits and its key alone. */
  function ask(at: number, fields: Pick<RequestEvent, 'key'> & Partial<RequestEvent>): void {
    events.push({
      ...draw(id, at),
      ...{ stream: true, choices: 1, ask: 'text', words: 8, directive: undefined, search: undefined },
      ...{ leavesAfterMs: undefined, readsPerMs: undefined, upload: undefined },
      ...fields,
    });
    id += 1;
  }
  const add = (...more: readonly (FaultEvent | OperatorEvent | IssuerEvent)[]): void => void events.push(...more);

  if (rare.has('tight-limits')) {
    times(5, () => {
      const [at, service] = [somewhere(), Math.floor(chance() * 4)];
      // More than the workspace may have in flight, and two at the moment when the first ones end.
      for (let index = 0; index < 9; index += 1)
        ask(at + 6 * index, { key: crowdedKey, service, words: 20 + 4 * index });
      for (const later of [160, 190]) ask(at + later, { key: crowdedKey });
    });
    times(4, () => {
      const [at, gapMs] = [somewhere(), 5 + chance() * 60];
      for (let index = 0; index < 13; index += 1) ask(at + gapMs * index, { key: slowKey });
    });
  }
  if (rare.has('token-limits'))
    times(2, () => {
      const [at, service, key] = [somewhere(), Math.floor(chance() * 4), limitedKeys[0]!];
      // Together they use up a minute, and then one comes for each token that comes back, until some have passed again.
      for (let index = 0; index < 12; index += 1) ask(at + 40 * index, { key, service, maxTokens: 8 + 4 * index });
      for (let index = 0; index < 80; index += 1) ask(at + 1_500 + 240 * index, { key, service, maxTokens: 20 });
      // Admitted together, they reserve when their prompts are there.
      for (let index = 0; index < 8; index += 1)
        ask(at + 90_000 + index, { key, service, upload: { ms: 400, stalls: false } });
      for (let index = 0; index < 12; index += 1) ask(at + 25_000 + 5 * index, { key: limitedKeys[1]!, words: 40 });
      // Of two keys, against the limits of their workspace and of a tag.
      for (let index = 0; index < 40; index += 1)
        ask(at + 40_000 + 150 * index, { key: limitedKeys[2 + (index % 2)]!, service, maxTokens: 8 + index });
    });
  if (rare.has('few-places'))
    times(6, () => {
      const [at, service] = [somewhere(), Math.floor(chance() * 4)];
      for (let index = 0; index < 40; index += 1)
        ask(at + 12 * index, { key: one([0, 2], chance), service, words: 40 });
      const engine = one(['a1', 'a2', 'b1'], chance);
      for (const gone of [90, 230]) add({ kind: 'dns', at: at + gone, service, engine, forMs: 20 + chance() * 80 });
    });
  if (rare.has('ending-keys')) {
    const [at, forMs] = [somewhere(), 5_000 + chance() * 120_000];
    add(
      chance() < 0.5
        ? { kind: 'rotate', at, key: endingKey, overlapMs: forMs }
        : { kind: 'expiry', at, key: endingKey, inMs: forMs },
    );
    for (const afterMs of [-4_000, -600, 1_600, 2_600, 13_700, 13_800, 30_000, 70_000, 110_000])
      ask(at + forMs + afterMs, { key: endingKey });
  }
  if (rare.has('store-states')) {
    for (const [key, change] of [
      [heldKey, 'suspended'],
      [rotatedKey, 'rotated'],
    ] as const) {
      const at = somewhere();
      // It spends its budget, if it has one.
      for (const before of [6_000, 4_000, 2_000, 700, 300]) ask(at - before, { key, words: 30 });
      if (change === 'suspended') add({ kind: 'key-status', at, key, status: 'suspended' });
      else add({ kind: 'rotate', at, key, overlapMs: 1_000 });
      const faultAt = at + 14_000;
      add(troubleOfStore(faultAt, 14_000, chance));
      for (const later of [500, 1_500, 4_000, 6_000, 9_000, 12_000]) ask(faultAt + later, { key });
      if (change === 'suspended') add({ kind: 'key-status', at: at + 40_000, key, status: 'active' });
      for (const later of [56_000, 57_000]) ask(at + later, { key });
    }
  }
  if (rare.has('identities')) placeTokens({ ask, add, somewhere, chance });
  if (rare.has('long-outage')) {
    const [at, forMs] = [(1 + chance() * 14) * minuteMs, (33 + chance() * 5) * minuteMs];
    add({ kind: 'locked', at, forMs });
    for (const key of [0, 2, 10]) {
      for (const before of [-2_500, -1_000]) ask(at + before, { key, service: 0 });
      for (const later of [29 * minuteMs, 31.1 * minuteMs, 32.4 * minuteMs, forMs - 8_000])
        ask(at + later, { key, service: 0 });
    }
  }
  return events;
}

/** One of the ways in which what services store may be out of reach. */
const troubleOfStore = (at: number, forMs: number, chance: Chance): FaultEvent =>
  one(
    [
      { kind: 'locked', at, forMs },
      { kind: 'disk', at, trouble: 'full', forMs },
      { kind: 'disk', at, trouble: 'fails', forMs },
      { kind: 'disk', at, trouble: 'cannot-sync', forMs },
      { kind: 'valkey', at, trouble: 'away', forMs },
      { kind: 'valkey', at, trouble: 'forgets', forMs },
    ] as const,
    chance,
  );
