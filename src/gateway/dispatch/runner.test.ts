import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { AttemptReason, AttemptStep } from '../core/telemetry.ts';
import type { StartReason } from './decide.ts';
import { hold, newRunner, reasonOf, stepOf, takeHeld } from './runner.ts';
import { plannedOf } from '../../../test/support/route-of.ts';
import { steadyBegin } from '../../../test/support/steady-health.ts';

const a = plannedOf('a');
const usage: AnswerEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 0 } };
const text: AnswerEvent = { type: 'text-delta', choice: 0, text: 'one', deltas: 1 };

it.each<readonly [StartReason, boolean, AttemptReason]>([
  ['first', false, 'first'],
  ['first', true, 'resume'],
  ['failover', false, 'failover'],
  ['failover', true, 'failover'],
  ['hedge', true, 'hedge'],
])('an attempt that begins as %s, with the answer continued: %s, has the reason %s', (why, isContinued, reason) => {
  expect(reasonOf(why, { isContinued })).toBe(reason);
});

it.each<readonly [string, PlannedRoute | undefined, AttemptStep]>([
  ['the first of a request', undefined, 'first'],
  ['one on the route of the call before', a, 'endpoint'],
  ['one on another route', plannedOf('b'), 'route'],
])('a call knows its step: %s', (_, previous, step) => {
  expect(stepOf(a, previous)).toBe(step);
});

describe('output that is held', () => {
  function begin() {
    const record = steadyBegin(() => undefined, a.route, { stream: true });
    if (record === undefined) throw new Error('the attempt has not begun');
    const runner = newRunner({ planned: a, continuation: undefined, record }, { number: 0, why: 'first', begunAt: 0 });
    let outputs = 0;
    const watch = { output: () => (outputs += 1), movedTo: () => undefined, ended: () => undefined };
    runner.watch = watch;
    return { runner, outputs: () => outputs };
  }

  it.each<readonly [string, boolean, readonly (readonly AnswerEvent[])[], readonly boolean[]]>([
    ['is the first of a stream when it is more than usage', true, [[usage], [usage, text]], [false, true]],
    ['is the first of a whole answer with its first event', false, [[usage], [text]], [true, false]],
  ])('%s', (_, stream, pieces, expected) => {
    const { runner, outputs } = begin();
    expect(pieces.map((piece) => hold(runner, piece, stream))).toEqual(expected);
    expect(outputs()).toBe(1);
  });

  it('has one report of usage, the last, however many come before output', () => {
    const { runner } = begin();
    const later: AnswerEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 9 } };
    for (let count = 0; count < 100; count += 1) hold(runner, [usage], true);
    hold(runner, [later], true);
    hold(runner, [text, usage], true);
    expect(takeHeld(runner)).toEqual([later, text, usage]);
  });

  it('is returned in order, once', () => {
    const { runner } = begin();
    hold(runner, [usage], true);
    hold(runner, [text], true);
    expect([takeHeld(runner), takeHeld(runner)]).toEqual([[usage, text], []]);
  });
});
