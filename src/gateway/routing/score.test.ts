import { describe, expect, it } from 'vitest';
import type { Candidate } from './eligible.ts';
import { neverSeen, type RouteStatus, type RoutingView } from './health/route-status.ts';
import { pull } from './affinity.ts';
import { order } from './score.ts';
import { routeOf, targetOf } from '../../../test/support/route-of.ts';

/** A route in a row of the table: fields that are left out are those of an unknown route. */
interface State extends Partial<RouteStatus> {
  readonly engine?: 'fireworks';
  readonly weight?: number;
  readonly honoured?: number;
}

interface Row {
  /** Of three routes a, b and c. */
  readonly routes: readonly State[];
  /** Which of them draws the conversation the most, weights aside. */
  readonly own?: string;
}

const ask = { stream: true, capabilities: ['json_schema'] } as const;
const unknown = neverSeen.status(routeOf('a'), ask);
const measured = (ms: number, weight = 8) => ({ ms, weight, isBound: false });
const sized = (inFlight: number, capacity: number): State => ({ inFlight, capacity });

const named = (name: string): string => routeOf(name).id;

/**
 * A conversation that is drawn to the route of this name so much more than to the other two that no weight here bears on it, and
 * to the first of those more than to the second.
 */
function conversationOf(name: string): string {
  const others = ['a', 'b', 'c'].filter((other) => other !== name);
  for (let index = 0; ; index += 1) {
    const affinity = `conversation ${index}`;
    const [first = 0, second = 0] = others.map((other) => pull(affinity, named(other), 1));
    if (first > second && pull(affinity, named(name), 1) > 1000 * first) return affinity;
  }
}

function orderOf({ routes, own }: Row, turn: number) {
  const probed: string[] = [];
  const rows = routes.map((state, index) => ({ state, name: 'abc'[index] ?? '' }));
  const statuses = new Map(rows.map(({ name, state }) => [name, { ...unknown, ...state }]));
  const view: RoutingView = {
    status: ({ backend }) => statuses.get(backend.name) ?? unknown,
    probeStructure: ({ backend }) => probed.push(backend.name),
  };
  const candidates = rows.map(({ name, state: { weight = 100, honoured = 0, engine } }): Candidate => {
    const { backend, ...route } = routeOf(name, { weight });
    return {
      route: { ...route, backend: { ...backend, ...(engine && { engine }) } },
      target: targetOf(name),
      honoured,
    };
  });
  const affinity = own === undefined ? undefined : conversationOf(own);
  const ordered = order(candidates, { view, ask, turn, affinity });
  const namesOf = (some: readonly Candidate[]): string => some.map(({ route }) => route.backend.name).join(' ');
  return { names: namesOf(ordered.candidates), equals: namesOf(ordered.equals), probed };
}

/** How often each of the routes comes first, in hundredths. */
function firsts(row: Row): readonly number[] {
  const counts = [0, 0, 0];
  for (let step = 0; step < 1000; step += 1) {
    const { names } = orderOf(row, (step + 0.5) / 1000);
    const index = 'abc'.indexOf(names[0] ?? '-');
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count) => Math.round(count / 10));
}

const slow = measured(1000);
const fast = measured(100);

describe('the routes of which the endpoints decide', () => {
  it.each<readonly [string, Row, string]>([
    ['have the weight of the first one', { routes: [{}, { weight: 50 }, {}] }, 'a c'],
    [
      'are those of the route that chance or the conversation found',
      { routes: [{}, { weight: 50 }, {}], own: 'b' },
      '',
    ],
    ['are not there for a route to be probed', { routes: [{ state: 'probe' }, {}, {}] }, ''],
    ['are available', { routes: [{}, { state: 'last-resort' }, {}] }, 'a c'],
    ['honour as many parameters', { routes: [{ honoured: 1 }, { honoured: 1 }, {}] }, 'a b'],
    ['are no providers', { routes: [{}, { engine: 'fireworks' }, {}] }, 'a c'],
    ['are not there for a provider', { routes: [{ engine: 'fireworks' }, {}, {}], own: 'a' }, ''],
    ['answer in the right structure as often', { routes: [{}, { validity: 0.9 }, {}] }, 'a c'],
    ['make tokens up to four times as slowly', { routes: [{ tokenMs: 10 }, { tokenMs: 40 }, { tokenMs: 41 }] }, 'a b'],
    [
      'are standby routes where the first one is',
      { routes: [{ weight: 0 }, { weight: 0 }, { state: 'unavailable' }] },
      'a b',
    ],
    ['are several', { routes: [{}, { weight: 50 }, { weight: 20 }] }, ''],
  ])('%s', (_, row, equals) => {
    const found = orderOf({ own: 'a', ...row }, 0);
    expect(found.equals.split(' ').toSorted().join(' ')).toBe(equals);
  });
});

describe('the order of routes', () => {
  // At turn 0 the first by score is the first.
  it.each<readonly [string, Row, string]>([
    ['the heaviest first', { routes: [{}, { weight: 300 }, { weight: 200 }] }, 'b c a'],
    ['what is out is not asked', { routes: [{ state: 'unavailable' }, {}, { state: 'unavailable' }] }, 'b'],
    [
      'what fails at once is asked when all else has failed',
      { routes: [{ state: 'last-resort', weight: 300 }, {}, {}] },
      'b c a',
    ],
    ['… whatever it honours', { routes: [{ state: 'last-resort', honoured: 2 }, {}] }, 'b a'],
    [
      'what fails at once is better than nothing',
      { routes: [{ state: 'last-resort' }, { state: 'unavailable' }] },
      'a',
    ],
    ['nothing is left', { routes: [{ state: 'unavailable' }, { state: 'unavailable' }] }, ''],
    ['success', { routes: [{ success: 0.8 }, { success: 1 }, { success: 0.9 }] }, 'b c a'],
    ['free slots', { routes: [sized(6, 8), sized(2, 32), sized(2, 8)] }, 'b c a'],
    ['the faster first output', { routes: [{ firstOutput: slow }, { firstOutput: fast }] }, 'b a'],
    [
      'the faster tokens',
      {
        routes: [
          { firstOutput: fast, tokenMs: 40 },
          { firstOutput: measured(200), tokenMs: 10 },
        ],
      },
      'b a',
    ],
    [
      'tokens only where they are known of all',
      { routes: [{ firstOutput: fast, tokenMs: 40 }, { firstOutput: measured(200) }] },
      'a b',
    ],
    ['validity of form', { routes: [{ validity: 0.5 }, { validity: 0.9 }] }, 'b a'],
    ['more honoured parameters before all else', { routes: [{ weight: 900 }, { honoured: 2, success: 0.5 }] }, 'b a'],
    ['more honoured parameters, unless it is out', { routes: [{}, { honoured: 2, state: 'unavailable' }] }, 'a'],
    ['a route that may be back goes first', { routes: [{}, { state: 'probe', success: 0.2 }, {}] }, 'b a c'],
    ['one of two that may be back; the other last', { routes: [{ state: 'probe' }, { state: 'probe' }, {}] }, 'a c b'],
    ['a probe does not come before more honoured', { routes: [{ state: 'probe' }, { honoured: 1 }] }, 'b a'],
    [
      'a standby comes behind what fails and is slow',
      { routes: [{ weight: 0 }, { success: 0.1, firstOutput: slow }] },
      'b a',
    ],
    ['… whatever the standby honours', { routes: [{ weight: 0, honoured: 2 }, {}] }, 'b a'],
    ['… and is not probed first', { routes: [{}, { weight: 0, state: 'probe' }] }, 'a b'],
    ['a standby that may be back is asked when it is alone', { routes: [{ weight: 0, state: 'probe' }] }, 'a'],
    ['a standby comes before what fails at once', { routes: [{ state: 'last-resort' }, { weight: 0 }] }, 'b a'],
    [
      '… and behind it where both do',
      { routes: [{ weight: 0, state: 'last-resort' }, { state: 'last-resort' }] },
      'b a',
    ],
    ['a standby takes what a full route does not', { routes: [{ state: 'unavailable' }, { weight: 0 }] }, 'b'],
    [
      'a standby gives the structure that the others miss',
      { routes: [{ state: 'invalid-structure' }, { weight: 0 }] },
      'b',
    ],
    ['a route that may be back goes before a standby', { routes: [{ weight: 0 }, { state: 'probe' }] }, 'b a'],
    [
      'a standby comes before a second one that may be back',
      { routes: [{ state: 'probe' }, { state: 'probe' }, { weight: 0 }] },
      'a c b',
    ],
    ['a standby is no conversation’s own', { routes: [{}, { weight: 0 }], own: 'b' }, 'a b'],
    ['… unless standbys alone are left', { routes: [{ weight: 0 }, { weight: 0 }, { weight: 0 }], own: 'c' }, 'c a b'],
    ['a route of invalid structure is not asked', { routes: [{ state: 'invalid-structure', weight: 900 }, {}] }, 'b'],
    [
      'routes of invalid structure alone are better than none',
      { routes: [{ state: 'invalid-structure' }, { state: 'unavailable' }] },
      'a',
    ],
    ['the conversation’s own', { routes: [{}, {}, {}], own: 'c' }, 'c a b'],
    ['… not behind a probe', { routes: [{ state: 'probe' }, {}, {}], own: 'c' }, 'a b c'],
    ['… not when it is out', { routes: [{}, {}, { state: 'unavailable' }], own: 'c' }, 'a b'],
    ['… not when it honours less', { routes: [{ honoured: 1 }, {}], own: 'b' }, 'a b'],
    ['… not when it is being probed for', { routes: [{}, { state: 'probe', weight: 0 }], own: 'b' }, 'a b'],
    ['… while its free share is a quarter', { routes: [sized(0, 16), sized(6, 8)], own: 'b' }, 'b a'],
    ['… not when others are much freer', { routes: [sized(0, 16), sized(7, 8)], own: 'b' }, 'a b'],
    ['… while it fails little', { routes: [{}, { success: 0.8 }], own: 'b' }, 'b a'],
    ['… not when it fails much', { routes: [{}, { success: 0.6 }], own: 'b' }, 'a b'],
    ['… not when it is ten times slower', { routes: [{ firstOutput: fast }, { firstOutput: slow }], own: 'b' }, 'a b'],
    ['… not when it is only the fallback', { routes: [{ weight: 1000 }, { weight: 1 }], own: 'b' }, 'a b'],
    ['… else the next', { routes: [{ state: 'unavailable' }, {}, { weight: 101 }], own: 'a' }, 'b c'],
  ])('%s', (_, row, expected) => {
    expect(orderOf(row, 0).names).toBe(expected);
  });

  it('is the same for the same turn', () => {
    const row = { routes: [sized(3, 8), sized(4, 16), sized(9, 32)] };
    for (const turn of [0, 0.3, 0.6, 0.999]) expect(orderOf(row, turn)).toEqual(orderOf(row, turn));
  });

  it('has one request alone find out whether a route of invalid structure is valid again', () => {
    const { names, probed } = orderOf({ routes: [{}, { state: 'structure-probe' }] }, 0);
    expect([names, probed]).toEqual(['b a', ['b']]);
    expect(orderOf({ routes: [{}, { state: 'probe' }] }, 0).probed).toEqual([]);
  });
});

describe('the share of first places', () => {
  it.each<readonly [string, Row, readonly number[]]>([
    ['of equals', { routes: [{}, {}] }, [50, 50, 0]],
    ['follows the weights', { routes: [{ weight: 75 }, { weight: 25 }] }, [75, 25, 0]],
    ['of a thousand to one is nearly all', { routes: [{ weight: 1000 }, { weight: 1 }] }, [100, 0, 0]],
    ['follows free slots', { routes: [sized(0, 8), sized(0, 16), sized(16, 32)] }, [20, 40, 40]],
    ['follows speed', { routes: [{ firstOutput: measured(100) }, { firstOutput: measured(200) }] }, [66, 34, 0]],
    ['takes an unknown size for the average', { routes: [sized(0, 8), sized(0, 24), {}] }, [17, 50, 33]],
    ['takes an unknown pace for the best', { routes: [{ firstOutput: fast }, {}] }, [50, 50, 0]],
    [
      'takes what only waits for slow, not for fast',
      { routes: [{ firstOutput: fast }, { firstOutput: { ms: 1, weight: 2, isBound: true } }] },
      [50, 50, 0],
    ],
    ['of one failure in ten is half of another’s', { routes: [{}, { success: 0.9 }] }, [65, 35, 0]],
    ['of one failure in two is next to nothing', { routes: [{}, { success: 0.5 }] }, [99, 2, 0]],
    ['of a sick one is next to nothing', { routes: [{ firstOutput: fast }, { firstOutput: slow }] }, [98, 2, 0]],
    [
      'of one that was sick long ago grows',
      { routes: [{ firstOutput: fast }, { firstOutput: measured(1000, 0.2) }] },
      [78, 22, 0],
    ],
    ['of a standby is nothing', { routes: [{ weight: 1 }, { weight: 0 }] }, [100, 0, 0]],
    ['of standbys alone is equal', { routes: [{ weight: 0 }, { weight: 0 }] }, [50, 50, 0]],
    [
      'does not depend on how fast a standby is',
      {
        routes: [
          { firstOutput: measured(1000) },
          { firstOutput: measured(2000) },
          { weight: 0, firstOutput: measured(10) },
        ],
      },
      [66, 34, 0],
    ],
    ['of a full one that is not out is nothing', { routes: [sized(8, 8), sized(7, 8)] }, [0, 100, 0]],
  ])('%s', (_, row, expected) => {
    expect(firsts(row)).toEqual(expected);
  });
});
