import { expect, it } from 'vitest';
import { keepDelivered } from './continuation/delivered.ts';
import { type AfterRace, afterRace, type DeliveredSoFar } from './dispatch-end.ts';
import type { RaceEnd } from './race-end.ts';
import { plannedOf } from '../../../test/support/route-of.ts';

const [a, b] = [plannedOf('a'), plannedOf('b')];
const kept = keepDelivered();
const error = new Error('broken');
const complete: RaceEnd = { kind: 'complete', planned: a };
const broken: RaceEnd = { kind: 'broken', planned: a };
const exhausted: RaceEnd = { kind: 'exhausted', isPartial: true, refusedFor: 'account', about: undefined };
const crashed: RaceEnd = { kind: 'crashed', error };

const nothing: DeliveredSoFar = { route: undefined, isFinished: false, kept };
const some: DeliveredSoFar = { route: b.route, isFinished: false, kept };
const interrupt: AfterRace = { kind: 'interrupt', route: b.route };

const table: readonly (readonly [what: string, end: RaceEnd, delivered: DeliveredSoFar, next: AfterRace])[] = [
  ['that is complete completes its choices', complete, some, { kind: 'complete', route: a.route }],
  ['that breaks off is continued', broken, some, { kind: 'continue', brokenOn: a, kept }],
  [
    'that breaks off after every end is complete',
    broken,
    { ...some, isFinished: true },
    { kind: 'complete', route: a.route },
  ],
  ['that breaks off interrupts an answer that was not kept', broken, { ...some, kept: undefined }, interrupt],
  ['without a winner interrupts an answer that has begun', exhausted, some, interrupt],
  [
    'without a winner fails an answer that has not begun',
    exhausted,
    nothing,
    { kind: 'fail', isPartial: true, refusal: { refusedFor: 'account', about: undefined } },
  ],
  ['that crashes interrupts an answer that has begun', crashed, some, interrupt],
  ['that crashes before any output crashes dispatch', crashed, nothing, { kind: 'crash', error }],
];

it.each(table)('a race %s', (_, end, delivered, next) => {
  expect(afterRace(end, delivered)).toEqual(next);
});
