import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { endpointsOf, routeOf } from '../../../test/support/route-of.ts';
import type { Backend } from '../../core/catalog.ts';
import type { EngineLoad } from '../../gateway/core/engine-load.ts';
import type { MetricsAnswer, MetricsTarget } from '../../gateway/egress/read-metrics.ts';
import { followEngineLoads, metricsPathOf } from './follow-engine-loads.ts';

const busy = 'vllm:num_requests_running 3\nvllm:num_requests_waiting 5\n';

interface Options {
  readonly counts?: Readonly<Record<string, number>>;
  readonly backends?: readonly (Partial<Backend> & { readonly name: string })[];
  readonly answer?: (target: MetricsTarget) => MetricsAnswer | Promise<MetricsAnswer>;
}

function follow({ counts = { a: 2 }, backends = [{ name: 'a' }], answer }: Options = {}) {
  const clock = createFakeClock();
  const asked: MetricsTarget[] = [];
  const taken: (readonly [string, number, EngineLoad])[] = [];
  const retained: (readonly string[])[] = [];
  const state = { isUsed: true };
  const follower = followEngineLoads({
    clock,
    endpoints: endpointsOf(counts),
    loads: {
      isUsed: () => state.isUsed,
      asked:
        (_, { endpoint }) =>
        (now, load) =>
          taken.push([endpoint, now, load]),
    },
    reader: {
      read: async (target) => {
        asked.push(target);
        return answer?.(target) ?? { kind: 'metrics', text: busy };
      },
      retain: (clusters) => retained.push([...clusters]),
      close: () => undefined,
    },
  });
  follower.follow(
    backends.map((fields) => {
      const route = routeOf(fields.name);
      return { ...route, backend: { ...route.backend, ...fields } };
    }),
  );
  /** Lets seconds pass. Returns how many questions each of them brought. */
  const seconds = async (count: number): Promise<readonly number[]> => {
    const each: number[] = [];
    for (let second = 0; second < count; second += 1) {
      const before = asked.length;
      clock.advance(1000);
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
      each.push(asked.length - before);
    }
    return each;
  };
  return { clock, follower, asked, taken, retained, state, seconds };
}

/** In which seconds there was a question. */
async function secondsAsked(
  seconds: (count: number) => Promise<readonly number[]>,
  count: number,
): Promise<readonly number[]> {
  return (await seconds(count)).flatMap((questions, at) => (questions > 0 ? [at] : []));
}

describe('the engines of a pool', () => {
  it('are asked once a second while the pool is used, and their load is taken', async () => {
    const { asked, taken, state, seconds } = follow({
      backends: [{ name: 'a', headers: [['authorization', 'Bearer own']] }],
    });
    expect(await seconds(3)).toEqual([2, 2, 2]);
    expect(asked[0]).toMatchObject({
      ...{
        endpoint: '10.0.0.1:8000',
        authority: 'a.svc:8000',
        path: '/metrics',
        headers: [['authorization', 'Bearer own']],
      },
    });
    expect(taken.slice(0, 2)).toEqual([
      ['10.0.0.1:8000', 1000, { running: 3, waiting: 5 }],
      ['10.0.0.2:8000', 1000, { running: 3, waiting: 5 }],
    ]);
    state.isUsed = false;
    expect(await seconds(2)).toEqual([0, 0]);
  });

  it('are not asked where there is one, where it reports no load, or where it is a provider', async () => {
    const { seconds, retained } = follow({
      counts: { alone: 1, ollama: 2, hosted: 2 },
      backends: [{ name: 'alone' }, { name: 'ollama', engine: 'ollama' }, { name: 'hosted', engine: 'fireworks' }],
    });
    expect(await seconds(3)).toEqual([0, 0, 0]);
    expect(retained).toEqual([['cluster-alone']]);
  });

  it.each([
    ['no metrics', { kind: 'absent' }],
    ['other metrics', { kind: 'metrics', text: 'python_info 1\n' }],
  ] as const)(
    'are asked again after five minutes where they have %s, whether the pool is used or not',
    async (_, answer) => {
      const { seconds, taken, state } = follow({ answer: () => answer });
      expect(await secondsAsked(seconds, 301)).toEqual([0, 300]);
      state.isUsed = false;
      await seconds(2);
      state.isUsed = true;
      expect(await secondsAsked(seconds, 299)).toEqual([297]);
      expect(taken).toEqual([]);
    },
  );

  it('are asked less and less often where they do not answer, until they do', async () => {
    let answer: MetricsAnswer = { kind: 'failed' };
    const { seconds, taken } = follow({ answer: () => answer });
    expect(await secondsAsked(seconds, 96)).toEqual([0, 1, 3, 7, 15, 31, 63, 95]);
    expect(taken).toEqual([]);
    answer = { kind: 'metrics', text: busy };
    expect(await secondsAsked(seconds, 34)).toEqual([31, 32, 33]);
    answer = { kind: 'failed' };
    expect(await secondsAsked(seconds, 4)).toEqual([0, 1, 3]);
  });

  it('do not wait for one that does not answer', async () => {
    const { seconds, taken } = follow({
      answer: ({ endpoint }) =>
        endpoint === '10.0.0.1:8000' ? new Promise(() => undefined) : { kind: 'metrics', text: busy },
    });
    expect(await seconds(3)).toEqual([2, 1, 1]);
    expect(taken.map(([endpoint]) => endpoint)).toEqual(Array(3).fill('10.0.0.2:8000'));
  });

  it('are asked in turn if there are many, 64 in a second', async () => {
    const { seconds, asked } = follow({ counts: { a: 150 } });
    expect(await seconds(3)).toEqual([64, 64, 64]);
    const names = asked.map(({ endpoint }) => endpoint);
    expect(new Set(names.slice(0, 150)).size).toBe(150);
  });

  it('are asked no more when they are closed', async () => {
    const { follower, seconds, clock } = follow();
    follower.close();
    expect(await seconds(2)).toEqual([0, 0]);
    expect(clock.armed()).toBe(0);
  });
});

it.each([
  ['/v1', '/metrics'],
  ['', '/metrics'],
  ['/qwen/v1', '/qwen/metrics'],
  ['/v1beta', '/v1beta/metrics'],
])('the metrics of an engine at %s are at %s', (path, metrics) => {
  expect(metricsPathOf({ path })).toBe(metrics);
});
