import fc from 'fast-check';
import { type Action, endings, losses } from './model.ts';

const at = fc.nat(3);
const of = <Kind extends Action['kind']>(kind: Kind) => fc.constant(kind);

/** Actions in such numbers that most traces charge requests, and some lose, refuse and expire rows. */
export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: of('begin'), cap: fc.constantFrom(5, 20, 60) }) },
  { weight: 6, arbitrary: fc.record({ kind: of('attempt'), at }) },
  { weight: 6, arbitrary: fc.record({ kind: of('deliver'), at, tokens: fc.constantFrom(1, 8, 40) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: of('end'), at, ending: fc.constantFrom(...endings) },
      loss: fc.oneof({ weight: 2, arbitrary: fc.constant('none' as const) }, fc.constantFrom(...losses)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: of('credit'), amount: fc.constantFrom(-60, -20, 30, 90) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('database-down') }) },
  { weight: 2, arbitrary: fc.record({ kind: of('database-up'), dies: fc.boolean() }) },
  fc.record({ kind: of('crash') }),
  fc.record({ kind: of('wait') }),
  { weight: 2, arbitrary: fc.record({ kind: of('next-day') }) },
  fc.record({ kind: of('upkeep') }),
);

/** All actions of a small world, for an exploration without gaps. */
export const smallWorld: readonly Action[] = [
  { kind: 'begin', cap: 60 },
  { kind: 'attempt', at: 0 },
  { kind: 'deliver', at: 0, tokens: 8 },
  ...losses.map((loss): Action => ({ kind: 'end', at: 0, ending: 'completed', loss })),
  { kind: 'credit', amount: -60 },
  { kind: 'database-down' },
  { kind: 'database-up', dies: false },
  { kind: 'database-up', dies: true },
  { kind: 'crash' },
  { kind: 'next-day' },
  { kind: 'upkeep' },
];

const begin: Action = { kind: 'begin', cap: 5 };
const attempt: Action = { kind: 'attempt', at: 0 };
const deliver: Action = { kind: 'deliver', at: 0, tokens: 8 };
const end = (loss: (typeof losses)[number] = 'none'): Action => ({ kind: 'end', at: 0, ending: 'completed', loss });
const run = [begin, attempt, deliver];
const up = (dies = false): Action => ({ kind: 'database-up', dies });
const nextDay: Action = { kind: 'next-day' };

/** Traces that chance seldom finds, by what happens in them. */
export const rareTraces: Readonly<Record<string, readonly Action[]>> = {
  'a commit in doubt is settled once more from the journal': [...run, end('in-doubt'), up(), begin],
  'a service dies before it removes a journal that it has settled': [
    ...([...run, ...run, { kind: 'database-down' }, end(), end(), up(true), begin] as const),
  ],
  'a service dies after a commit that its caller never hears of': [
    ...run,
    end('dies-after'),
    ...run,
    end('dies-before'),
  ],
  'a row is durable in the journal, and its service dies': [...run, { kind: 'database-down' }, end('dies-after')],
  'a request outlives the retention of its time': [
    ...([...run, ...run, end(), nextDay, nextDay, nextDay, { kind: 'upkeep' }, end(), ...run, end()] as const),
  ],
  'a row in the journal is older than the requests that are kept': [
    ...([
      ...run,
      ...run,
      end(),
      nextDay,
      nextDay,
      nextDay,
      { kind: 'upkeep' },
      { kind: 'database-down' },
      end(),
      up(),
    ] as const),
  ],
  'a correction waits until the reservations of a service that died are old': [
    ...([begin, { kind: 'wait' }, { kind: 'crash' }, { kind: 'credit', amount: -90 }, { kind: 'wait' }] as const),
    { kind: 'credit', amount: -90 },
  ],
  'a budget begins again at midnight, for requests of the new day': [
    ...([
      { kind: 'credit', amount: 300 },
      begin,
      attempt,
      { kind: 'deliver', at: 0, tokens: 140 },
      end(),
      begin,
    ] as const),
    ...[nextDay, begin, attempt, deliver, nextDay, end(), begin],
  ],
};
