import { describe, expect, it } from 'vitest';
import { type Action, decide, type RaceEvent, newRace, type RaceState } from './decide.ts';

const start = (route: number, why: 'first' | 'failover' | 'hedge'): Action => ({ kind: 'start', route, why });
const begin: RaceEvent = { kind: 'begin' };
const hedge: RaceEvent = { kind: 'hedge' };
const output = (route: number): RaceEvent => ({ kind: 'output', route });
const failed = (route: number) => ({ kind: 'failed', route }) as const;
const unavailable = (route: number): RaceEvent => ({ kind: 'unavailable', route });

/** The actions of each event in turn, and how things stand then. */
function play(
  routes: number,
  events: readonly RaceEvent[],
): { readonly race: RaceState; readonly last: readonly Action[] } {
  let race = newRace(routes);
  let last: readonly Action[] = [];
  for (const event of events) ({ race, actions: last } = decide(race, event));
  return { race, last };
}

describe('a race for the first output', () => {
  const table: readonly (readonly [what: string, events: readonly RaceEvent[], actions: readonly Action[]])[] = [
    ['begins with the first route', [begin], [start(0, 'first')]],
    ['takes the next one after a failure', [begin, failed(0)], [start(1, 'failover')]],
    ['takes the next one when there was no room', [begin, unavailable(0)], [start(1, 'failover')]],
    ['starts a second attempt when the first is slow', [begin, hedge], [start(1, 'hedge')]],
    ['keeps the first attempt that has output', [begin, output(0)], [{ kind: 'commit', route: 0 }]],
    [
      'gives up the older attempt as beaten when the hedge is faster',
      [begin, hedge, output(1)],
      [
        { kind: 'abandon', route: 0, beaten: true },
        { kind: 'commit', route: 1 },
      ],
    ],
    [
      'gives up the hedge, which is not to blame, when the first attempt is faster after all',
      [begin, hedge, output(0)],
      [
        { kind: 'abandon', route: 1, beaten: false },
        { kind: 'commit', route: 0 },
      ],
    ],
    ['has the hedge stand in for the attempt that fails', [begin, hedge, failed(0)], []],
    ['does not wait for the slow one alone when its hedge fails', [begin, hedge, failed(1)], [start(2, 'failover')]],
    ['waits for the slow one when no other route is left', [begin, hedge, failed(1), failed(2)], []],
    ['ends when every route has failed', [begin, failed(0), failed(1), failed(2)], [{ kind: 'exhausted' }]],
    ['ends when the slow one fails last', [begin, hedge, failed(1), failed(2), failed(0)], [{ kind: 'exhausted' }]],
    ['ends when no further route is to be tried', [begin, { ...failed(0), isLast: true }], [{ kind: 'exhausted' }]],
    ['waits for the slow one when no further route is to be tried', [begin, hedge, { ...failed(1), isLast: true }], []],
    [
      'ends with the slow one when no further route is to be tried',
      [begin, hedge, { ...failed(1), isLast: true }, failed(0)],
      [{ kind: 'exhausted' }],
    ],
    ['is broken when the winner fails', [begin, output(0), failed(0)], [{ kind: 'broken', route: 0 }]],
    ['does not hedge what is being delivered', [begin, output(0), hedge], []],
    ['does not hedge when nothing is left to hedge with', [begin, hedge, hedge, hedge], []],
    ['takes no notice of an attempt it has given up', [begin, hedge, output(1), failed(0)], []],
    ['takes no notice of output that comes too late', [begin, hedge, output(1), output(0)], []],
    ['takes no notice of more output', [begin, output(0), output(0)], []],
  ];
  it.each(table)('%s', (_, events, actions) => {
    expect(play(3, events).last).toEqual(actions);
  });

  it('never runs a route twice, whatever happens', () => {
    const events = [begin, hedge, failed(0), hedge, failed(1), hedge, failed(2), failed(1), hedge];
    let race = newRace(3);
    const started: number[] = [];
    for (const event of events) {
      const decision = decide(race, event);
      ({ race } = decision);
      for (const action of decision.actions) if (action.kind === 'start') started.push(action.route);
    }
    expect(started).toEqual([0, 1, 2]);
  });

  it('without routes is over at once', () => {
    expect(play(0, [begin]).last).toEqual([{ kind: 'exhausted' }]);
  });
});
