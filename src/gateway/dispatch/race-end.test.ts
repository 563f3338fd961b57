import { expect, it } from 'vitest';
import type { Fault } from '../../core/event.ts';
import { endOfExhausted, type RaceEnd } from './race-end.ts';
import { plannedOfAll } from '../../../test/support/route-of.ts';

const routes = plannedOfAll(['a', 'b']);
const [a] = routes;
const fault: Fault = { kind: 'status', detail: '', status: 401, engineError: 'account' };
const connect: Fault = { kind: 'connect', detail: '' };
const reasonless = { refusedFor: undefined, about: undefined };

it.each<readonly [string, Partial<Parameters<typeof endOfExhausted>[0]>, RaceEnd]>([
  ['without any call says no reason', {}, { kind: 'exhausted', isPartial: true, ...reasonless }],
  [
    'with calls to some routes has their reason, and is partial',
    { asked: new Set([a]), faults: [fault] },
    { kind: 'exhausted', isPartial: true, refusedFor: 'account', about: undefined, isLasting: true },
  ],
  [
    'with calls to all routes is not partial',
    { asked: new Set(routes), faults: [fault, connect] },
    { kind: 'exhausted', isPartial: false, refusedFor: undefined },
  ],
  [
    'with an answer of the wrong structure is complete',
    { asked: new Set(routes), faults: [connect, fault], tolerable: a },
    { kind: 'complete', planned: a },
  ],
])('an exhausted race %s', (_, given, end) => {
  expect(endOfExhausted({ routes, asked: new Set(), faults: [], tolerable: undefined, ...given })).toEqual(end);
});
