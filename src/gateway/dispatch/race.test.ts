import { describe, expect, it } from 'vitest';
import type { Fault } from '../../core/event.ts';
import type { Health } from '../core/health.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { Upstream, UpstreamCall } from '../core/upstream.ts';
import { createHedgeBudget } from './hedge.ts';
import type { EngineProtocol } from './protocol.ts';
import { startRace } from './race.ts';
import type { RaceEnd } from './race-end.ts';
import type { RaceListener } from './running-race.ts';
import { createTried } from './tried.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeUpstream, type FakeCall } from '../../../test/support/fake-upstream.ts';
import { plannedOfAll, routeOf } from '../../../test/support/route-of.ts';
import { readWords, words } from '../../../test/support/run-dispatch.ts';
import { steadyBegin, steadyHealth } from '../../../test/support/steady-health.ts';

const hedgeAfterMs = 200;

const callTo = (cluster: string): UpstreamCall => ({
  ...{ cluster, authority: 'x', path: '/', body: '', accept: 'text/event-stream' },
});

interface Given {
  readonly backends?: readonly string[];
  readonly stream?: boolean;
  readonly request?: EngineProtocol['request'];
  readonly refuses?: (call: UpstreamCall) => boolean;
  readonly upstream?: Upstream;
  readonly health?: Partial<Health>;
  readonly listener?: Partial<RaceListener>;
}

/** A race whose listener writes down what it is called with, in order. Health writes down the ends of attempts. */
function begin({ backends = ['a', 'b', 'c'], stream = true, refuses, listener, ...given }: Given = {}) {
  const clock = createFakeClock();
  const upstream = createFakeUpstream(refuses === undefined ? {} : { refuses });
  const log: string[] = [];
  const ends: RaceEnd[] = [];
  const healthEnds: string[] = [];
  const faults: Fault[] = [];
  const tried = createTried();
  const routes = plannedOfAll(backends);
  const race = startRace(
    {
      plan: { model: { hedging: 'Auto' } },
      asked: { stream, prompt: undefined },
      branch: { choices: [0], routes, tried },
      broken: undefined,
      protocol: {
        request: given.request ?? (({ route }) => callTo(route.backend.cluster.name)),
        reader: (_, { choices }) => readWords(choices),
        errors: { needsBody: () => false, read: () => ({ engineError: 'other' }) },
        continuation: () => ({ mark: 'flag', reasoning: false }),
      },
    },
    {
      clock,
      upstream: given.upstream ?? upstream,
      hedges: createHedgeBudget(),
      idleMs: 100_000,
      health: steadyHealth({
        begin: (...to) => steadyBegin(({ kind }) => healthEnds.push(`${to[0].backend.name} ${kind}`), ...to),
        ...given.health,
      }),
    },
    {
      attempting: ({ route }, reason) => void log.push(`${route.backend.name} ${reason}`),
      won: ({ route }, reason) => log.push(`${route.backend.name} won as ${reason}`),
      failed: ({ route }, fault) => {
        log.push(`${route.backend.name} failed: ${fault.kind}`);
        faults.push(fault);
      },
      mayRetry: () => true,
      validate: undefined,
      deliver: (events, { planned }) => {
        const text = events.map((event) => (event.type === 'text-delta' ? event.text : `(${event.type})`)).join(' ');
        log.push(`${planned.route.backend.name} delivers ${text}`);
      },
      over: (end) => {
        log.push(`over: ${end.kind}`);
        ends.push(end);
      },
      ...listener,
    },
  );
  const engine = (index: number): FakeCall => {
    const call = upstream.calls[index];
    if (call === undefined) throw new Error(`there is no call ${index}`);
    return call;
  };
  const says = (index: number, what: string): FakeCall => {
    engine(index).head(200, words);
    engine(index).data(what);
    return engine(index);
  };
  const placesTried = () =>
    routes.map((planned) => {
      const on = tried.on(planned);
      return typeof on === 'string' ? on : on.size;
    });
  return { race, clock, upstream, log, ends, healthEnds, faults, engine, says, placesTried };
}

const hedged = { hedge: () => ({ afterMs: hedgeAfterMs, insured: true }) };

describe('the output of a race', () => {
  it('is held until the race has a winner, and then delivered piece by piece', () => {
    const { says, engine, log } = begin();
    says(0, '=7/0');
    expect(log).toEqual(['a first']);
    engine(0).data('0:one');
    engine(0).data('0:two');
    engine(0).data('0!');
    expect(log).toEqual([
      'a first',
      'a won as first',
      'a delivers (usage) one',
      'a delivers two',
      'a delivers (finish)',
      'over: complete',
    ]);
  });

  it('is delivered up to the fault that breaks it, which ends the race', () => {
    const { says, log, ends, upstream } = begin();
    says(0, '0:one').fail('ECONNRESET');
    expect(log.slice(2)).toEqual(['a delivers one', 'a failed: reset', 'over: broken']);
    expect(ends).toMatchObject([{ kind: 'broken', planned: { route: { id: routeOf('a').id } } }]);
    expect(upstream.calls).toHaveLength(1);
  });
});

describe('calls that fail before they return', () => {
  it('are reported one after the other, each before the next attempt begins', () => {
    const { log, says } = begin({ refuses: ({ cluster }) => cluster !== 'cluster-c' });
    expect(log).toEqual(['a first', 'a failed: connect', 'b failover', 'b failed: connect', 'c failover']);
    says(2, '0:one 0!');
    expect(log.slice(5)).toEqual(['c won as failover', 'c delivers one (finish)', 'over: complete']);
  });

  it('have returned before the next call is made', () => {
    const refusing = createFakeUpstream({ refuses: () => true });
    const order: string[] = [];
    const upstream: Upstream = {
      ...refusing,
      call: (call, listener) => {
        order.push(`call ${call.cluster}`);
        const stream = refusing.call(call, listener);
        order.push(`return ${call.cluster}`);
        return stream;
      },
    };
    begin({ backends: ['a', 'b'], upstream });
    expect(order).toEqual(['call cluster-a', 'return cluster-a', 'call cluster-b', 'return cluster-b']);
  });

  it('end the race once when none is left', () => {
    const { log, healthEnds } = begin({ backends: ['a', 'b'], refuses: () => true });
    expect(log.slice(-2)).toEqual(['b failed: connect', 'over: exhausted']);
    expect(healthEnds).toEqual(['a failed', 'b failed']);
  });
});

describe('permission for another attempt', () => {
  it('is asked for after each fault that another place can follow, and not after the last', () => {
    const asked: string[] = [];
    const mayRetry = ({ kind }: Fault): boolean => asked.push(kind) > 0;
    const { engine } = begin({ backends: ['a', 'b'], listener: { mayRetry } });
    engine(0).head(500);
    engine(1).fail('ECONNREFUSED');
    expect(asked).toEqual(['status']);
  });

  it.each([
    ['is whole when every route was asked', {}, false],
    ['is partial when the permission is refused', { listener: { mayRetry: () => false } }, true],
    [
      'is partial when a route had no room',
      {
        health: {
          begin: (...[route, options]: Parameters<Health['begin']>) =>
            route.backend.name === 'b' ? undefined : steadyBegin(() => undefined, route, options),
        },
      },
      true,
    ],
  ] satisfies readonly (readonly [string, Given, boolean])[])('the list of reasons %s', (_, given, isPartial) => {
    const { upstream, ends } = begin({ backends: ['a', 'b'], ...given });
    for (let call = 0; call < upstream.calls.length; call += 1) upstream.calls[call]?.head(500);
    expect(ends).toEqual([{ kind: 'exhausted', isPartial, refusedFor: 'other', about: undefined }]);
  });
});

describe('a whole answer of the wrong structure', () => {
  const defect: StructuralDefect = {
    ...{ capability: 'json_schema', detail: 'the caller’s words', isTolerable: true, mayBeCallersFault: true },
  };
  const validate: RaceListener['validate'] = (_, { route }) =>
    Promise.resolve(route.backend.name === 'a' ? defect : undefined);

  it('gives way to a sound answer of a later route', async () => {
    const { says, upstream, log } = begin({ stream: false, listener: { validate } });
    says(0, '0:bad 0!').end();
    await upstream.called(1);
    says(1, '0:good 0!').end();
    await expect.poll(() => log.at(-1)).toBe('over: complete');
    expect(log.filter((line) => line.includes('delivers'))).toEqual(['b delivers good (finish)']);
  });

  it('is delivered when no attempt may follow', async () => {
    const over = Promise.withResolvers<RaceEnd>();
    const listener = { validate, mayRetry: () => false, over: over.resolve };
    const { says, log } = begin({ stream: false, listener });
    says(0, '0:bad 0!').end();
    expect(await over.promise).toMatchObject({ kind: 'complete', planned: { route: { id: routeOf('a').id } } });
    expect(log).toEqual(['a first', 'a failed: structure', 'a delivers bad (finish)']);
  });

  it('is a fault of its route, whose detail has none of the caller’s words', async () => {
    const { says, upstream, faults, healthEnds } = begin({ stream: false, listener: { validate } });
    says(0, '0:bad 0!').end();
    await upstream.called(1);
    expect(faults).toEqual([{ kind: 'structure', detail: 'json_schema' }]);
    // The exchange itself was sound. The check reports its finding to health by itself.
    expect(healthEnds).toEqual(['a complete']);
  });

  it('is not looked at any more when the check ends after another attempt has won', async () => {
    const late = Promise.withResolvers<StructuralDefect | undefined>();
    const over = Promise.withResolvers<RaceEnd>();
    const { says, clock, log, faults } = begin({
      stream: false,
      health: hedged,
      listener: {
        over: over.resolve,
        validate: (_, { route }) => (route.backend.name === 'a' ? late.promise : Promise.resolve(undefined)),
      },
    });
    clock.advance(hedgeAfterMs);
    says(0, '0:bad 0!').end();
    says(1, '0:good 0!').end();
    await over.promise;
    late.resolve(defect);
    await late.promise;
    expect({ faults, last: log.at(-1) }).toEqual({ faults: [], last: 'b delivers good (finish)' });
  });
});

describe('a hedge', () => {
  it('is the only attempt beside the first one, however late both are', () => {
    const { clock, upstream, log } = begin({ health: hedged });
    clock.advance(50 * hedgeAfterMs);
    expect(upstream.calls).toHaveLength(2);
    expect(log).toEqual(['a first', 'b hedge']);
  });

  it.each([
    [0, [1, 0, 0]],
    [1, [0, 1, 0]],
  ])('that is decided for attempt %i leaves the place of the other one open', (winner, places) => {
    const { clock, says, placesTried } = begin({ health: hedged });
    clock.advance(hedgeAfterMs);
    expect(placesTried()).toEqual([1, 1, 0]);
    says(winner, '0:one');
    expect(placesTried()).toEqual(places);
  });
});

describe('pausing a race', () => {
  it('pauses every attempt under way and each that begins later, until it resumes', () => {
    const { race, clock, engine, upstream } = begin({ health: hedged });
    clock.advance(hedgeAfterMs);
    race.pause();
    engine(0).head(500);
    engine(1).head(500);
    const paused = (): readonly boolean[] => upstream.calls.map((call) => call.paused());
    expect(paused()).toEqual([true, true, true]);
    race.resume();
    expect(engine(2).paused()).toBe(false);
  });

  it('pauses a call that goes out later, because its body was not written yet', async () => {
    const body = Promise.withResolvers<UpstreamCall>();
    const { race, upstream } = begin({ request: () => body.promise });
    race.pause();
    body.resolve(callTo('cluster-a'));
    expect((await upstream.called(0)).aborted()).toBe(false);
    await expect.poll(() => upstream.calls[0]?.paused()).toBe(true);
  });
});

describe('leaving a race', () => {
  it('returns the attempts whose calls have gone out, with the time that each has waited, and keeps their calls open', () => {
    const { race, clock, engine, log, healthEnds } = begin({
      health: hedged,
      request: ({ route }) =>
        route.backend.name === 'a' ? callTo('cluster-a') : new Promise<UpstreamCall>(() => undefined),
    });
    clock.advance(hedgeAfterMs + 300);
    const left = race.leave();
    expect(left.map(({ at, waitedMs }) => [at.route.backend.name, waitedMs])).toEqual([['a', hedgeAfterMs + 300]]);
    expect(engine(0).aborted()).toBe(false);
    for (const { attempt } of left) attempt.abort();
    expect({ aborted: engine(0).aborted(), armed: clock.armed() }).toEqual({ aborted: true, armed: 0 });
    expect({ log, healthEnds }).toEqual({ log: ['a first'], healthEnds: ['a aborted', 'b aborted'] });
  });

  it('returns nothing after the end', () => {
    const { race, says, log } = begin();
    says(0, '0:one 0!').end();
    expect(race.leave()).toEqual([]);
    expect(log.at(-1)).toBe('over: complete');
  });
});

describe('aborting a race', () => {
  it('closes every call and reports no end', () => {
    const { race, clock, upstream, engine, log, healthEnds } = begin({ health: hedged });
    clock.advance(hedgeAfterMs);
    race.abort();
    expect(upstream.calls.map((call) => call.aborted())).toEqual([true, true]);
    engine(0).fail('late');
    engine(1).answer('text/words', '0:late 0!');
    clock.advance(1_000_000);
    expect({ log, healthEnds, armed: clock.armed() }).toEqual({
      log: ['a first', 'b hedge'],
      healthEnds: ['a aborted', 'b aborted'],
      armed: 0,
    });
  });

  it('has no effect after the end', () => {
    const { race, says, engine, log, healthEnds } = begin();
    says(0, '0:one 0!').end();
    race.abort();
    race.pause();
    race.resume();
    expect({ ends: log.filter((line) => line.startsWith('over')), healthEnds, aborted: engine(0).aborted() }).toEqual({
      ends: ['over: complete'],
      healthEnds: ['a complete'],
      aborted: false,
    });
  });
});

describe('an error of the service in a race', () => {
  const broken = new Error('broken');
  const failing = (): never => {
    throw broken;
  };

  it('that comes from the listener of the first attempt ends the race once', () => {
    const { log, ends, healthEnds, upstream, clock } = begin({ listener: { attempting: failing } });
    expect({ ends, log, healthEnds }).toEqual({
      ends: [{ kind: 'crashed', error: broken }],
      log: ['over: crashed'],
      healthEnds: ['a aborted'],
    });
    expect({ calls: upstream.calls.length, armed: clock.armed() }).toEqual({ calls: 0, armed: 0 });
  });

  it('that follows a fault does not reach the engine’s call that reported the fault', () => {
    const listener = {
      attempting: ({ route }: { readonly route: { readonly backend: { readonly name: string } } }) =>
        route.backend.name === 'b' ? failing() : undefined,
    };
    const { engine, log } = begin({ listener });
    expect(() => engine(0).fail('ECONNREFUSED')).not.toThrow();
    expect(log).toEqual(['a failed: connect', 'over: crashed']);
  });

  const mistakes: readonly (readonly [of: string, listener: Partial<RaceListener>, log: readonly string[]])[] = [
    ['when the race is won', { won: failing }, ['a first', 'over: crashed']],
    ['when held output is delivered', { deliver: failing }, ['a first', 'a won as first', 'over: crashed']],
  ];

  it.each(mistakes)('that comes from the listener %s ends the race once', (_, listener, expected) => {
    const { says, engine, ends, log, clock } = begin({ listener });
    expect(() => says(0, '0:one')).not.toThrow();
    expect({ ends, log, armed: clock.armed(), aborted: engine(0).aborted() }).toEqual({
      ends: [{ kind: 'crashed', error: broken }],
      log: expected,
      armed: 0,
      aborted: true,
    });
  });

  it('that comes from the delivery of a later piece ends the race once', () => {
    let pieces = 0;
    const { says, engine, log } = begin({ listener: { deliver: () => (++pieces === 2 ? failing() : undefined) } });
    says(0, '0:one');
    expect(() => engine(0).data('0:two')).not.toThrow();
    expect(log).toEqual(['a first', 'a won as first', 'over: crashed']);
    expect(engine(0).aborted()).toBe(true);
  });

  it('that follows the writing of a body elsewhere ends the race once', async () => {
    const over = Promise.withResolvers<RaceEnd>();
    const { healthEnds, upstream } = begin({
      request: ({ route }) => Promise.resolve(callTo(route.backend.cluster.name)),
      listener: { attempting: failing, over: over.resolve },
    });
    expect(await over.promise).toEqual({ kind: 'crashed', error: broken });
    expect({ healthEnds, calls: upstream.calls.length }).toEqual({ healthEnds: ['a aborted'], calls: 0 });
  });

  it('in a hedge ends the first attempt, too', () => {
    const health: Partial<Health> = {
      ...hedged,
      begin: (...to) => (to[0].backend.name === 'b' ? failing() : steadyBegin(() => undefined, ...to)),
    };
    const { clock, engine, log } = begin({ health });
    clock.advance(hedgeAfterMs);
    expect(log).toEqual(['a first', 'over: crashed']);
    expect({ aborted: engine(0).aborted(), armed: clock.armed() }).toEqual({ aborted: true, armed: 0 });
  });

  it('that comes after the end is dropped', async () => {
    const body = Promise.withResolvers<UpstreamCall>();
    const { race, log, healthEnds } = begin({ request: () => body.promise });
    race.abort();
    body.reject(broken);
    await body.promise.catch(() => undefined);
    await Promise.resolve();
    expect({ log, healthEnds }).toEqual({ log: [], healthEnds: ['a aborted'] });
  });

  it('in the check of an answer ends the race with it', async () => {
    const over = Promise.withResolvers<RaceEnd>();
    const listener = { validate: () => Promise.reject(broken), over: over.resolve };
    const { says, log } = begin({ stream: false, listener });
    says(0, '0:one 0!').end();
    expect(await over.promise).toEqual({ kind: 'crashed', error: broken });
    expect(log).toEqual(['a first']);
  });
});
