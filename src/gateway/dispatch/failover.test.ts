import { describe, expect, it } from 'vitest';
import type { Fault } from '../../core/event.ts';
import type { AttemptEnd, Health } from '../core/health.ts';
import type { Plan } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import { modelOf, plannedOf, plannedOfAll } from '../../../test/support/route-of.ts';
import { steadyBegin, steadyHealth } from '../../../test/support/steady-health.ts';
import { expectQuiet, runDispatch as begin } from '../../../test/support/run-dispatch.ts';

describe('a stream that breaks off', () => {
  it('is continued by the next route with what was delivered, unseen', async () => {
    const run = begin({ asked: { cap: 10 } });
    run.says(0, '0:Hel 0:lo =7/2').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:, 0:you =9/2 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2, isContinued: true });
    expect(run.continuations).toEqual([undefined, { partial: { mark: 'flag', text: 'Hello' }, maxOutputTokens: 8 }]);
    expect({ text: run.text(), finishes: run.finishes(), reasons: run.reasons }).toEqual({
      ...{ text: 'Hello,you', finishes: [0] },
      reasons: ['a first', 'b resume'],
    });
    expect(run.usage()?.usage).toEqual({ promptTokens: 7, completionTokens: 4 });
    expectQuiet(run);
  });

  it('may break off again, and is continued with all of it', async () => {
    const run = begin();
    run.says(0, '0:a =7/1').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:b =8/1').end();
    await run.upstream.called(2);
    run.says(2, '0:c =9/1 0!').end();
    await run.ended;
    expect(run.continuations.map((asked) => asked?.partial?.text)).toEqual([undefined, 'a', 'ab']);
    expect({ text: run.text(), usage: run.usage()?.usage }).toEqual({
      text: 'abc',
      usage: { promptTokens: 7, completionTokens: 3 },
    });
    expectQuiet(run);
  });

  it('never asks a route to continue that cannot', async () => {
    const run = begin({
      continuation: ({ route }) => ({ mark: route.backend.name === 'b' ? 'none' : 'flag', reasoning: false }),
    });
    run.says(0, '0:a').fail('ECONNRESET');
    await run.upstream.called(1);
    expect(run.engine(1).call.cluster).toBe('cluster-c');
    run.says(1, '0:b 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed' });
    expect(run.text()).toBe('ab');
  });

  it('is interrupted when no route is able, and none is asked', async () => {
    const run = begin({ continuation: () => ({ mark: 'none', reasoning: false }) });
    run.says(0, '0:a').fail('ECONNRESET');
    expect(await run.ended).toMatchObject({ kind: 'interrupted', attempts: 1 });
    expect({ calls: run.upstream.calls.length, text: run.text() }).toEqual({ calls: 1, text: 'a' });
    expectQuiet(run);
  });

  it('is interrupted when every other route fails, too, and none is tried twice', async () => {
    const run = begin();
    run.engine(0).head(500);
    run.says(1, '0:a').fail('ECONNRESET');
    (await run.upstream.called(2)).fail('ECONNREFUSED');
    expect(await run.ended).toMatchObject({ kind: 'interrupted', attempts: 3 });
    expect(run.faults).toEqual(['a status', 'b reset', 'c connect']);
    expectQuiet(run);
  });

  it('is whole when only the words after its end are missing', async () => {
    const run = begin({ asked: { choices: 2 } });
    run.says(0, '0:a 0! 1:b 1!');
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 1, isContinued: false });
    const cut = begin({ asked: { choices: 2 } });
    cut.says(0, '0:a 0! 1:b').fail('ECONNRESET');
    await cut.upstream.called(1);
    expect(cut.continuations[1]?.partial?.text).toBe('b');
    cut.says(1, '0:c 0!');
    await cut.ended;
    expect([cut.text(0), cut.text(1)]).toEqual(['a', 'bc']);
  });

  it('has each of its choices continued by itself', async () => {
    const run = begin({ asked: { choices: 2 } });
    run.says(0, '0:a 1:x =7/2').fail('ECONNRESET');
    await run.upstream.called(2);
    expect(run.continuations.slice(1).map((asked) => asked?.partial?.text)).toEqual(['a', 'x']);
    run.says(2, '0:y =8/1 0!').end();
    expect(run.end()).toBeUndefined();
    run.says(1, '0:b =8/1 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3 });
    expect([run.text(0), run.text(1), run.finishes(), run.usage()?.usage]).toEqual([
      ...['ab', 'xy', [1, 0]],
      { promptTokens: 7, completionTokens: 4 },
    ]);
    expectQuiet(run);
  });

  it('ends by its cap when all of that has been delivered', async () => {
    const run = begin({ asked: { cap: 2 } });
    run.says(0, '0:a 0:b =7/2').fail('ECONNRESET');
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 1 });
    expect(run.delivered.findLast(({ type }) => type === 'finish')).toMatchObject({ reason: 'length' });
    expectQuiet(run);
  });

  it.each([0, 1, 2])('ends choice %i by its cap under its own number, when it breaks off alone', async (capped) => {
    const run = begin({ asked: { choices: 3, cap: 2 } });
    run.says(0, '0:a 1:b 2:c').fail('ECONNRESET');
    await run.upstream.called(3);
    run.says(1 + capped, '0:more').fail('ECONNRESET');
    for (const other of [0, 1, 2]) if (other !== capped) run.says(1 + other, '0:! 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', isContinued: true });
    const ends = run.delivered.flatMap((event) => (event.type === 'finish' ? [`${event.choice} ${event.reason}`] : []));
    expect(ends.toSorted()).toEqual([0, 1, 2].map((choice) => `${choice} ${choice === capped ? 'length' : 'stop'}`));
    expectQuiet(run);
  });

  it('tries another route when the one that continues contradicts', async () => {
    const run = begin({ asked: { isJson: true } });
    run.says(0, '0:{"a":1,').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:}{');
    expect(run.engine(1).aborted()).toBe(true);
    run.says(2, '0:"b":2} 0!').end();
    await run.ended;
    expect({ text: run.text(), faults: run.faults }).toEqual({
      text: '{"a":1,"b":2}',
      faults: ['a reset', 'b disjoint'],
    });
  });

  it('is given up when its caller leaves meanwhile', async () => {
    const run = begin();
    run.says(0, '0:a').fail('ECONNRESET');
    const second = await run.upstream.called(1);
    run.leave();
    expect(await run.ended).toMatchObject({ kind: 'cancelled', attempts: 2 });
    expect(second.aborted()).toBe(true);
    expectQuiet(run);
  });

  it('is held back with its caller after it was continued, too', async () => {
    const run = begin();
    run.says(0, '0:a');
    run.running.pause();
    run.engine(0).fail('ECONNRESET');
    const second = await run.upstream.called(1);
    expect(second.paused()).toBe(true);
    run.running.resume();
    expect(second.paused()).toBe(false);
    run.leave();
  });

  it('bills what was delivered when the continuation cannot be written', async () => {
    const run = begin({
      request: (_planned, _endpoint, continuation) => {
        if (continuation !== undefined) throw new Error('the worker is gone');
        return { cluster: 'cluster-a', authority: 'x', path: '/', body: '', accept: 'text/event-stream' };
      },
    });
    run.says(0, '0:a').fail('ECONNRESET');
    expect(await run.ended).toMatchObject({ kind: 'interrupted' });
    expectQuiet(run);
  });
});

describe('a hedge', () => {
  const advising = (fields: Partial<Health> = {}): Health =>
    steadyHealth({ hedge: () => ({ afterMs: 200, insured: false }), ...fields });

  it('starts after the delay, once, and its loser is let go of at once', async () => {
    const ends: AttemptEnd['kind'][] = [];
    const health = advising({ begin: (...to) => steadyBegin((end) => ends.push(end.kind), ...to) });
    const run = begin({ health, idleMs: 100_000 });
    run.clock.advance(199);
    expect(run.upstream.calls).toHaveLength(1);
    run.clock.advance(1);
    expect(run.upstream.calls).toHaveLength(2);
    run.clock.advance(5000);
    expect(run.upstream.calls).toHaveLength(2);
    run.says(1, '0:hello');
    expect({ loser: run.engine(0).aborted(), winner: run.engine(1).aborted() }).toEqual({ loser: true, winner: false });
    run.says(0, '0:late 0!');
    run.engine(1).data('0!');
    run.engine(1).end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
    expect({ text: run.text(), reasons: run.reasons, ends }).toEqual({
      ...{ text: 'hello', reasons: ['a first', 'b hedge'] },
      ends: ['beaten', 'complete'],
    });
    expectQuiet(run);
  });

  it('is not started for an answer that has begun', async () => {
    const run = begin({ health: advising(), idleMs: 100_000 });
    run.says(0, '0:hello');
    run.clock.advance(10_000);
    expect(run.upstream.calls).toHaveLength(1);
    run.leave();
    expectQuiet(run);
  });

  it('is let go of when the first attempt is faster after all, which is not held against it', async () => {
    const ends: AttemptEnd['kind'][] = [];
    const health = advising({ begin: (...to) => steadyBegin((end) => ends.push(end.kind), ...to) });
    const run = begin({ health });
    run.clock.advance(200);
    run.says(0, '0:hello 0!').end();
    await run.ended;
    expect({ hedge: run.engine(1).aborted(), ends }).toEqual({ hedge: true, ends: ['aborted', 'complete'] });
    expectQuiet(run);
  });

  it('waits for the budget, unless the route has been ejected meanwhile', () => {
    let isOut = false;
    const broke = { earn: () => undefined, spend: () => false };
    const run = begin({ health: advising({ isOut: () => isOut }), hedges: broke, idleMs: 100_000 });
    run.clock.advance(5000);
    expect(run.upstream.calls).toHaveLength(1);
    isOut = true;
    run.clock.advance(250);
    expect(run.upstream.calls).toHaveLength(2);
    run.leave();
    expectQuiet(run);
  });

  describe('beside a standby', () => {
    const clusters = (run: ReturnType<typeof begin>): readonly string[] =>
      run.upstream.calls.map(({ call }) => call.cluster);
    const first = plannedOf('a');
    const standby = plannedOf('c', { weight: 0 });
    const planOf = (...routes: Plan['routes']): Plan => ({ model: modelOf([], { hedging: 'Auto' }), routes });

    it.each([
      ['is not made there while the first attempt is merely slow', {}, ['cluster-a']],
      ['is made there when the endpoint has been ejected', { isOut: () => true }, ['cluster-a', 'cluster-c']],
      ['is made there when the first attempt is a probe', { isProbed: () => true }, ['cluster-a', 'cluster-c']],
    ])('%s', (_, fields: Partial<Health>, expected) => {
      const run = begin({ plan: planOf(first, standby), health: advising(fields), idleMs: 100_000 });
      run.clock.advance(5000);
      expect(clusters(run)).toEqual(expected);
      run.leave();
      expectQuiet(run);
    });

    it('is followed by the standby only when no attempt on another route runs any more', async () => {
      const run = begin({ plan: planOf(first, plannedOf('b'), standby), health: advising(), idleMs: 100_000 });
      run.clock.advance(200);
      run.engine(1).fail('ECONNRESET');
      run.clock.advance(5000);
      expect(clusters(run)).toEqual(['cluster-a', 'cluster-b']);
      run.engine(0).fail('ECONNRESET');
      expect(clusters(run)).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
      run.says(2, '0:hello 0!').end();
      expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3 });
      expectQuiet(run);
    });
  });

  it('is never made where the model does without', () => {
    const plan = { model: modelOf([], { hedging: 'Disabled' }), routes: plannedOfAll(['a', 'b']) };
    const run = begin({ plan, health: advising(), idleMs: 100_000 });
    run.clock.advance(50_000);
    expect(run.upstream.calls).toHaveLength(1);
    run.leave();
  });
});

describe('a route without room', () => {
  const full = (...names: string[]): Health =>
    steadyHealth({
      begin: (route, options) =>
        names.includes(route.backend.name) ? undefined : steadyBegin(() => undefined, route, options),
    });

  it('is passed over', async () => {
    const run = begin({ health: full('a') });
    expect(run.engine(0).call.cluster).toBe('cluster-b');
    run.says(0, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 1 });
    expect(run.reasons).toEqual(['b first']);
  });

  it('leaves the request without any attempt when there is no other', async () => {
    const run = begin({ health: full('a', 'b', 'c') });
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 0 });
    expectQuiet(run);
  });
});

describe('a whole answer that is validated', () => {
  const defect: StructuralDefect = {
    capability: 'json_object',
    detail: 'no JSON',
    isTolerable: false,
    mayBeCallersFault: false,
  };

  it('is retried on another route when it is malformed, and nothing of it is delivered', async () => {
    const run = begin({
      asked: { stream: false },
      validateWhole: (_, { route }) => Promise.resolve(route.backend.name === 'a' ? defect : undefined),
    });
    run.says(0, '0:bad 0!').end();
    await run.upstream.called(1);
    run.says(1, '0:good 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
    expect({ text: run.text(), faults: run.faults }).toEqual({ text: 'good', faults: ['a structure'] });
    expectQuiet(run);
  });

  it('fails when every route is malformed', async () => {
    const run = begin({ asked: { stream: false }, backends: ['a', 'b'], validateWhole: () => Promise.resolve(defect) });
    run.says(0, '0:bad 0!').end();
    await run.upstream.called(1);
    run.says(1, '0:bad 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 2 });
    expect(run.delivered).toEqual([]);
  });

  it('is not retried where no retry is left for it', async () => {
    const mayRetry = ({ kind }: Fault): boolean => kind !== 'structure';
    const run = begin({ asked: { stream: false }, mayRetry, validateWhole: () => Promise.resolve(defect) });
    run.says(0, '0:bad 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 1, refusedFor: 'structure', isPartial: true });
    expectQuiet(run);
  });

  it('that its caller can make use of is relayed when no route does better', async () => {
    const validateWhole = () => Promise.resolve({ ...defect, isTolerable: true });
    const run = begin({ asked: { stream: false }, backends: ['a', 'b', 'c'], validateWhole });
    run.says(0, '0:first 0!').end();
    await run.upstream.called(1);
    run.says(1, '0:second 0!').end();
    (await run.upstream.called(2)).head(500);
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3, route: { id: 'tiny@a' } });
    expect(run.text()).toBe('first');
    expectQuiet(run);
  });

  it('is dropped when its caller leaves meanwhile', async () => {
    const result = Promise.withResolvers<undefined>();
    const run = begin({ asked: { stream: false }, validateWhole: () => result.promise });
    run.says(0, '0:good 0!').end();
    run.leave();
    result.resolve(undefined);
    expect(await run.ended).toMatchObject({ kind: 'cancelled' });
    expect(run.delivered).toEqual([]);
    expectQuiet(run);
  });
});
