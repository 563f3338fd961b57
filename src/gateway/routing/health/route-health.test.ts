import { describe, expect, it } from 'vitest';
import type { Route } from '../../../core/catalog.ts';
import type { EngineName } from '../../../core/engine-name.ts';
import type { Fault } from '../../../core/event.ts';
import type { AttemptEnd, AttemptRecord, BeginOptions } from '../../core/health.ts';
import { chanceFrom } from '../../../../test/support/chance.ts';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { endpointOf, endpointsOf, routeOf } from '../../../../test/support/route-of.ts';
import { complete, failed, limited, reset } from '../../../../test/support/watch-health.ts';
import { createHealth } from './health.ts';
import type { RouteRecord } from './route-record.ts';
import type { StatusAsk } from './route-status.ts';

/** A route of several endpoints, named by the last number of their addresses. */
function watch(count: number, fields: Partial<Route['backend']> = {}) {
  const clock = createFakeClock();
  const counts = { a: count };
  const health = createHealth({ clock, random: chanceFrom(3).next, endpoints: endpointsOf(counts) });
  const plain = routeOf('a');
  const route: Route = { ...plain, backend: { ...plain.backend, ...fields } };
  const names = (numbers: readonly number[]): ReadonlySet<string> =>
    new Set(numbers.map((number) => endpointOf('a', number).name));
  const numberOf = ({ endpoint }: AttemptRecord): number => Number(endpoint.address.split('.')[3]);
  const begin = (options: Partial<BeginOptions> = {}): AttemptRecord | undefined =>
    health.begin(route, { stream: true, ...options });
  /** An attempt on one endpoint, from its beginning to its end. */
  const attemptOn = (number: number, end: AttemptEnd, firstMs = 0): void => {
    const others = Array.from({ length: counts.a }, (_, index) => index + 1).filter((other) => other !== number);
    const record = begin({ avoid: names(others) });
    clock.advance(firstMs);
    if (end.kind === 'complete') record?.output();
    record?.ended(end);
  };
  /** Which endpoints so many attempts are made on, each ended before the next one begins. */
  const chosen = (attempts: number, options: Partial<BeginOptions> = {}): ReadonlyMap<number, number> => {
    const found = new Map<number, number>();
    for (let time = 0; time < attempts; time += 1) {
      const record = begin(options);
      if (record === undefined) continue;
      found.set(numberOf(record), (found.get(numberOf(record)) ?? 0) + 1);
      record.output();
      record.ended(complete);
    }
    return found;
  };
  return {
    ...{ clock, counts, health, route, names, numberOf, begin, attemptOn, chosen },
    status: () => health.status(route, { stream: true, capabilities: [] }),
    place: (number: number) => ({ route, endpoint: endpointOf('a', number) }),
  };
}

const failure: Fault = { kind: 'status', detail: '', status: 500, engineError: 'other' };
const account: Fault = { kind: 'status', detail: '', status: 401, engineError: 'account' };

describe('one endpoint of several', () => {
  it('is ejected alone, after three failures in a row, and its route stays as good as the others are', () => {
    const { attemptOn, health, place, status, chosen, route } = watch(8);
    for (let number = 1; number <= 8; number += 1) attemptOn(number, complete);
    for (let time = 0; time < 3; time += 1) attemptOn(3, failed(reset));
    expect([health.isOut(place(3)), health.isOut(place(4))]).toEqual([true, false]);
    expect(status()).toMatchObject({ state: 'available', success: 1 });
    expect(health.ejected(route)).toEqual([endpointOf('a', 3).name]);
    expect(chosen(200).has(3)).toBe(false);
  });

  it('is slow if others answered first, and not if its attempts failed', () => {
    const { attemptOn, health, route } = watch(8);
    for (let number = 1; number <= 8; number += 1) attemptOn(number, complete);
    for (let time = 0; time < 3; time += 1) attemptOn(3, { kind: 'beaten' });
    for (let time = 0; time < 3; time += 1) attemptOn(4, failed(reset));
    expect(health.ejected(route)).toEqual([endpointOf('a', 3).name, endpointOf('a', 4).name]);
    expect(health.slow(route)).toEqual([endpointOf('a', 3).name]);
  });

  it('is probed by one request when it may be well again, and then has its share', () => {
    const { attemptOn, clock, begin, numberOf, chosen } = watch(4);
    for (let time = 0; time < 3; time += 1) attemptOn(2, failed(reset));
    clock.advance(2000);
    const [probe, other] = [begin(), begin()];
    if (probe === undefined || other === undefined) throw new Error('room for two');
    expect([numberOf(probe), numberOf(other) === 2]).toEqual([2, false]);
    probe.output();
    probe.ended(complete);
    expect(chosen(400).get(2)).toBeGreaterThan(40);
  });

  it('is not probed by a request that has failed already', () => {
    const { attemptOn, clock, begin, numberOf, names } = watch(4);
    for (let time = 0; time < 3; time += 1) attemptOn(2, failed(reset));
    clock.advance(2000);
    const record = begin({ avoid: names([1]) });
    if (record === undefined) throw new Error('room for one');
    expect(numberOf(record)).not.toBe(2);
  });

  it('that is ten times slower gets a small part of its share', () => {
    const { attemptOn, chosen } = watch(8);
    for (let round = 0; round < 6; round += 1) {
      for (let number = 1; number <= 8; number += 1) attemptOn(number, complete, number === 5 ? 1000 : 100);
    }
    expect(chosen(1000).get(5) ?? 0).toBeLessThan(30);
  });

  it('that says that it is full is left alone for as long as it asks, and the others are not', () => {
    const { attemptOn, begin, chosen, clock, names } = watch(3);
    attemptOn(1, failed({ ...limited, retryAfterSeconds: 5 }));
    expect(begin({ avoid: names([2, 3]) })).toBeUndefined();
    expect(chosen(100).has(1)).toBe(false);
    clock.advance(5000);
    expect(chosen(100).has(1)).toBe(true);
  });

  it('that Envoy passes over is left alone for a quarter of a second, and nothing is held against it', () => {
    const { begin, numberOf, names, chosen, clock } = watch(3);
    const record = begin({ avoid: names([2, 3]) });
    record?.movedTo(endpointOf('a', 2).name);
    record?.output();
    record?.ended(complete);
    expect(record === undefined ? 0 : numberOf(record)).toBe(1);
    expect(chosen(100).has(1)).toBe(false);
    clock.advance(250);
    expect(chosen(100).has(1)).toBe(true);
  });

  it('that comes is used at once, and one that goes is used no more', () => {
    const { counts, chosen } = watch(2);
    expect([...chosen(100).keys()].toSorted((a, b) => a - b)).toEqual([1, 2]);
    counts.a = 3;
    expect([...chosen(100).keys()].toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    counts.a = 1;
    expect([...chosen(100).keys()]).toEqual([1]);
    counts.a = 0;
    expect(chosen(1).size).toBe(0);
  });
});

describe('a fault of the whole backend', () => {
  const hosted = { engine: 'deepseek' as EngineName };

  it.each([
    ['a lost account', {}, account],
    ['a provider’s own failure', hosted, failure],
  ])('ejects all endpoints: %s', (_about, fields, fault) => {
    const { attemptOn, status } = watch(4, fields);
    for (let number = 1; number <= 3; number += 1) attemptOn(number, failed(fault));
    expect(status().state).toBe('last-resort');
  });

  it.each<[string, Partial<Route['backend']>, Fault, string]>([
    ['a provider that has enough', hosted, limited, 'unavailable'],
    ['a provider whose error says so', hosted, { ...limited, status: 400 }, 'unavailable'],
    ['a provider whose status says so', hosted, { ...limited, engineError: 'other' }, 'unavailable'],
    ['none, where one engine of several has enough', {}, limited, 'available'],
  ])('keeps all requests from %s', (_, fields, fault, state) => {
    const { attemptOn, status } = watch(4, fields);
    attemptOn(1, failed(fault));
    expect(status().state).toBe(state);
  });

  it('of a failing engine leaves the other engines as they are', () => {
    const { attemptOn, status } = watch(4);
    for (let number = 1; number <= 3; number += 1) attemptOn(number, failed(failure));
    expect(status().state).toBe('available');
  });
});

it.each<[string, AttemptEnd, Partial<RouteRecord>]>([
  ['an answer', complete, { answeredAt: 7 }],
  ['an aborted attempt', { kind: 'aborted' }, {}],
  ['a fault of the request', failed({ ...failure, status: 400, engineError: 'bad-request' }), {}],
  ['an engine that is full', failed(limited), { refusal: limited }],
  ['a failure', failed(failure), { failing: { since: 7, at: 7, failures: 1, fault: failure } }],
])('the record of a route has %s as such', (_, end, changes) => {
  const { attemptOn, health, route } = watch(1);
  attemptOn(1, end, 7);
  const nothing = { answeredAt: undefined, failing: undefined, refusal: undefined };
  expect(health.record(route)).toEqual({ ...nothing, triedAt: 7, ...changes });
});

it('a route whose answers lack the asked structure is not asked, then probed, then available', () => {
  const { clock, health, route } = watch(1);
  const stateFor = (capabilities: StatusAsk['capabilities']) =>
    health.status(route, { stream: true, capabilities }).state;
  const found = (result: 'valid' | 'invalid') =>
    health.structure(route, { capability: 'tools', result, caller: 'one', asked: () => 1 });
  for (let answer = 0; answer < 3; answer += 1) found('invalid');
  expect([stateFor(['tools']), stateFor([])]).toEqual(['invalid-structure', 'available']);
  clock.advance(20_000);
  expect(stateFor(['tools'])).toBe('structure-probe');
  found('valid');
  expect(stateFor(['tools'])).toBe('available');
});

describe('a prompt’s own endpoint', () => {
  const prompts = Array.from({ length: 200 }, (_, index) => `digest-${index}`);
  const homes = ({ begin, numberOf }: ReturnType<typeof watch>): readonly number[] =>
    prompts.map((affinity) => {
      const record = begin({ affinity });
      record?.ended({ kind: 'aborted' });
      return record === undefined ? 0 : numberOf(record);
    });

  it('is the same in every replica, and prompts are spread over all', () => {
    const [one, other] = [homes(watch(4)), homes(watch(4))];
    expect(one).toEqual(other);
    for (const number of [1, 2, 3, 4]) expect(one.filter((home) => home === number).length).toBeGreaterThan(30);
  });

  it('changes only for the prompts of an endpoint that goes', () => {
    const set = watch(4);
    const before = homes(set);
    set.counts.a = 3;
    const moved = homes(set).filter((home, index) => home !== before[index]);
    expect(moved).toHaveLength(before.filter((home) => home === 4).length);
  });

  it('is another one while it is ejected, or has more than half again its share', () => {
    const set = watch(4);
    const [home = 0] = homes(set);
    const affinity = prompts[0];
    const records = Array.from({ length: 9 }, () => set.begin({ affinity }));
    expect(records.map((record) => record !== undefined && set.numberOf(record) === home)).toEqual([
      ...Array<boolean>(8).fill(true),
      false,
    ]);
    for (const record of records) record?.ended({ kind: 'aborted' });
    for (let time = 0; time < 3; time += 1) set.attemptOn(home, failed(reset));
    expect(homes(set)[0]).not.toBe(home);
  });
});

describe('room', () => {
  it('is counted per endpoint and for the whole backend', () => {
    const { begin, status, names } = watch(3, { maxConcurrentRequestsPerEndpoint: 2, maxConcurrentRequests: 5 });
    expect(status().capacity).toBe(5);
    expect([begin({ avoid: names([2, 3]) }), begin({ avoid: names([2, 3]) })].every(Boolean)).toBe(true);
    expect(begin({ avoid: names([2, 3]) })).toBeUndefined();
    expect([begin(), begin(), begin()].every(Boolean)).toBe(true);
    expect([begin(), status().state]).toEqual([undefined, 'unavailable']);
  });
});

describe('a hedge between endpoints', () => {
  it('comes after three times what three in four answers take, however slow one endpoint is', () => {
    const { attemptOn, health, place, route, names } = watch(8);
    for (let round = 0; round < 10; round += 1) {
      for (let number = 1; number <= 8; number += 1) attemptOn(number, complete, number === 5 ? 5000 : 100);
    }
    const others = [{ route, avoid: names([5]) }];
    const advice = health.hedge(place(5), { stream: true, others });
    expect(advice?.afterMs).toBeGreaterThan(200);
    expect(advice?.afterMs).toBeLessThan(400);
  });

  it('is not advised where no other endpoint is left', () => {
    const { health, place, route, names } = watch(2);
    expect(health.hedge(place(1), { stream: true, others: [{ route, avoid: names([1, 2]) }] })).toBeUndefined();
  });
});

it('an endpoint that cannot be reached counts for every route of its backend', () => {
  const { attemptOn, health, route } = watch(4);
  const other: Route = { ...route, id: 'other@a' };
  const state = () => health.ejected(other);
  health.status(other, { stream: true, capabilities: [] });
  for (let time = 0; time < 3; time += 1) attemptOn(2, failed({ kind: 'connect', detail: '' }));
  expect(state()).toEqual([endpointOf('a', 2).name]);
});
