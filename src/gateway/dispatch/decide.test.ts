import { describe, expect, it } from 'vitest';
import { type Action, decide, type RaceEvent, newRace, type RaceState } from './decide.ts';

const start = (attempt: number, why: 'first' | 'failover' | 'hedge'): Action => ({ kind: 'start', attempt, why });
const begin: RaceEvent = { kind: 'begin' };
const hedge: RaceEvent = { kind: 'hedge' };
const output = (attempt: number): RaceEvent => ({ kind: 'output', attempt });
const failed = (attempt: number) => ({ kind: 'failed', attempt }) as const;
const unavailable = (attempt: number): RaceEvent => ({ kind: 'unavailable', attempt });

/** The actions of each event in turn, and how things stand then. */
function play(events: readonly RaceEvent[]): { readonly race: RaceState; readonly last: readonly Action[] } {
  let race = newRace;
  let last: readonly Action[] = [];
  for (const event of events) ({ race, actions: last } = decide(race, event));
  return { race, last };
}

describe('a race for the first output', () => {
  const table: readonly (readonly [what: string, events: readonly RaceEvent[], actions: readonly Action[]])[] = [
    ['begins with one attempt', [begin], [start(0, 'first')]],
    ['makes the next one after a failure', [begin, failed(0)], [start(1, 'failover')]],
    ['ends when nothing takes the first', [begin, unavailable(0)], [{ kind: 'exhausted' }]],
    ['starts a second attempt when the first is slow', [begin, hedge], [start(1, 'hedge')]],
    ['keeps the first attempt that has output', [begin, output(0)], [{ kind: 'commit', attempt: 0 }]],
    [
      'gives up the older attempt as beaten when the hedge is faster',
      [begin, hedge, output(1)],
      [
        { kind: 'abandon', attempt: 0, beaten: true },
        { kind: 'commit', attempt: 1 },
      ],
    ],
    [
      'gives up the hedge, which is not to blame, when the first attempt is faster after all',
      [begin, hedge, output(0)],
      [
        { kind: 'abandon', attempt: 1, beaten: false },
        { kind: 'commit', attempt: 0 },
      ],
    ],
    ['has the hedge stand in for the attempt that fails', [begin, hedge, failed(0)], []],
    ['does not wait for the slow one alone when its hedge fails', [begin, hedge, failed(1)], [start(2, 'failover')]],
    ['waits for the slow one when nothing takes another', [begin, hedge, failed(1), unavailable(2)], []],
    ['goes on with the slow one when nothing takes its hedge', [begin, hedge, unavailable(1)], []],
    [
      'tries again when the slow one fails after all',
      [begin, hedge, unavailable(1), failed(0)],
      [start(2, 'failover')],
    ],
    ['ends when everything has failed', [begin, failed(0), failed(1), unavailable(2)], [{ kind: 'exhausted' }]],
    [
      'ends when the slow one fails last',
      [begin, hedge, failed(1), unavailable(2), failed(0), unavailable(3)],
      [{ kind: 'exhausted' }],
    ],
    ['ends when no further attempt is to be made', [begin, { ...failed(0), isLast: true }], [{ kind: 'exhausted' }]],
    [
      'waits for the slow one when no further attempt is to be made',
      [begin, hedge, { ...failed(1), isLast: true }],
      [],
    ],
    [
      'ends with the slow one when no further attempt is to be made',
      [begin, hedge, { ...failed(1), isLast: true }, failed(0)],
      [{ kind: 'exhausted' }],
    ],
    ['is broken when the winner fails', [begin, output(0), failed(0)], [{ kind: 'broken', attempt: 0 }]],
    ['does not hedge what is being delivered', [begin, output(0), hedge], []],
    ['does not hedge when no further attempt is to be made', [begin, hedge, { ...failed(1), isLast: true }, hedge], []],
    ['takes no notice of an attempt it has given up', [begin, hedge, output(1), failed(0)], []],
    ['takes no notice of output that comes too late', [begin, hedge, output(1), output(0)], []],
    ['takes no notice of more output', [begin, output(0), output(0)], []],
  ];
  it.each(table)('%s', (_, events, actions) => {
    expect(play(events).last).toEqual(actions);
  });

  it('never begins an attempt twice, whatever happens', () => {
    const events = [begin, hedge, failed(0), hedge, failed(1), hedge, failed(2), failed(1), hedge];
    let race = newRace;
    const started: number[] = [];
    for (const event of events) {
      const decision = decide(race, event);
      ({ race } = decision);
      for (const action of decision.actions) if (action.kind === 'start') started.push(action.attempt);
    }
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  it('without a place is over at once', () => {
    expect(play([begin, unavailable(0)]).last).toEqual([{ kind: 'exhausted' }]);
  });
});
