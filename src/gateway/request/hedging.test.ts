/** Hedging in a simulation: dispatch and the live health of routes together, under a fake clock. */
import { describe, expect, it } from 'vitest';
import type { ResponseReader } from '../../core/event.ts';
import type { Plan } from '../core/plan.ts';
import type { AttemptReason } from '../core/telemetry.ts';
import type { Upstream } from '../core/upstream.ts';
import { dispatch } from '../dispatch/dispatch.ts';
import { createHedgeBudget } from '../dispatch/hedge.ts';
import { createHealth } from '../routing/health/health.ts';
import { type Chance, chanceFrom } from '../../../test/support/chance.ts';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { quantile } from '../../../test/support/quantile.ts';
import { endpointsOf, modelOf, plannedOfAll } from '../../../test/support/route-of.ts';

/** Time to first token, milliseconds, of an engine that is usually fast and sometimes takes seconds. */
function heavyTail(chance: Chance): number {
  return chance.is(0.04) ? 1500 + 6000 * chance.next() : 80 + 120 * chance.next();
}

/** Engines that each wait for their own time, and then send the whole answer at once. */
function engines(clock: FakeClock, delayMs: (cluster: string) => number | undefined): Upstream {
  return {
    inFlight: () => 0,
    call: ({ cluster }, listener) => {
      const delay = delayMs(cluster);
      const cancelTimer =
        delay === undefined
          ? () => undefined
          : clock.after(delay, () => {
              listener.head(200, () => 'text/plain');
              listener.data(new Uint8Array(1));
              listener.ended();
            });
      return {
        ...{ abort: cancelTimer, pause: () => undefined, resume: () => undefined },
        reached: () => Promise.resolve(false),
      };
    },
  };
}

/** Takes the first bytes for the whole answer. */
const readAnything = (): ResponseReader => ({
  push: () => ({
    events: [
      { type: 'text-delta', choice: 0, text: 'x', deltas: 1 },
      { type: 'finish', choice: 0, reason: 'stop' },
    ],
    state: 'complete',
  }),
  end: () => ({ events: [], state: 'complete' }),
});

interface Outcome {
  /** Times to first token, milliseconds, in the order of the requests. */
  readonly firstTokenMs: readonly number[];
  readonly failed: number;
  readonly attempts: Readonly<Record<AttemptReason, number>>;
}

/** Sends requests at a steady pace, each first to the other of two routes. */
async function simulate(options: {
  readonly hedging: 'Disabled' | 'Auto';
  readonly requests: number;
  readonly delayMs: (cluster: string) => number | undefined;
}): Promise<Outcome> {
  const clock = createFakeClock();
  const upstream = engines(clock, options.delayMs);
  const health = createHealth({ clock, random: chanceFrom(7).next, endpoints: endpointsOf() });
  const hedges = createHedgeBudget();
  const firstTokenMs: number[] = [];
  const attempts = { first: 0, failover: 0, hedge: 0, resume: 0 };
  let failed = 0;
  const ended: Promise<unknown>[] = [];
  for (let request = 0; request < options.requests; request += 1) {
    const order = request % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
    const plan: Plan = { model: modelOf([], { hedging: options.hedging }), routes: plannedOfAll(order) };
    const begun = clock.elapsed();
    const running = dispatch(
      {
        plan,
        asked: { stream: true, choices: 1, cap: undefined, isJson: false, prompt: undefined },
        protocol: {
          request: ({ route }) => {
            const cluster = route.backend.cluster.name;
            return { cluster, authority: 'x', path: '/', body: '', accept: 'text/event-stream' };
          },
          reader: readAnything,
          errors: { needsBody: () => false, read: () => ({ engineError: 'other' }) },
          continuation: () => ({ mark: 'none', reasoning: false }),
        },
        retries: { mayRetry: () => true, explain: (refusedFor) => refusedFor },
        validator: undefined,
        countText: undefined,
        signal: new AbortController().signal,
        deliver: () => {
          firstTokenMs[request] ??= clock.elapsed() - begun;
        },
        observer: {
          attempting: (_, reason) => {
            attempts[reason] += 1;
          },
          won: () => undefined,
          failed: () => undefined,
        },
      },
      { upstream, health, hedges, clock, idleMs: 120_000 },
    );
    ended.push(
      running.ended.then(({ kind }) => {
        if (kind !== 'completed') failed += 1;
      }),
    );
    clock.advance(25);
  }
  clock.advance(600_000);
  await Promise.all(ended);
  return { firstTokenMs, failed, attempts };
}

describe('hedging, over engines with a heavy tail', () => {
  const run = (hedging: 'Disabled' | 'Auto') => {
    const chance = chanceFrom(20_261_121);
    return simulate({ hedging, requests: 6000, delayMs: () => heavyTail(chance) });
  };

  it('at least halves the 99th percentile of the time to the first token for at most a tenth more attempts', async () => {
    const [off, auto] = await Promise.all([run('Disabled'), run('Auto')]);
    expect(off.attempts).toEqual({ first: 6000, failover: 0, hedge: 0, resume: 0 });
    expect(off.failed + auto.failed).toBe(0);
    expect(auto.attempts.hedge).toBeGreaterThan(0);
    expect(auto.attempts.hedge).toBeLessThanOrEqual(600);
    const [before, after] = [quantile(off.firstTokenMs, 0.99), quantile(auto.firstTokenMs, 0.99)];
    expect(before).toBeGreaterThan(2000);
    expect(after).toBeLessThanOrEqual(before / 2);
  });
});

describe('a route that accepts and never answers', () => {
  it('delays no request for long, and soon gets hardly any', async () => {
    const chance = chanceFrom(5);
    const asked = { dead: 0 };
    const { firstTokenMs, failed } = await simulate({
      ...{ hedging: 'Auto', requests: 1000 },
      delayMs: (cluster) => {
        if (cluster === 'cluster-b') return 80 + 40 * chance.next();
        asked.dead += 1;
        return undefined;
      },
    });
    expect({ failed, answered: firstTokenMs.filter((ms) => ms >= 0).length }).toEqual({ failed: 0, answered: 1000 });
    expect(asked.dead).toBeLessThanOrEqual(60);
    expect(quantile(firstTokenMs.slice(50), 0.99)).toBeLessThanOrEqual(240);
  });
});
