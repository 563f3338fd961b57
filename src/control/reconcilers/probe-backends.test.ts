import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Route } from '../../core/catalog.ts';
import type { Cause } from '../../core/cause.ts';
import type { Fault } from '../../core/event.ts';
import type { ModelsAnswer } from '../../gateway/egress/ask-models.ts';
import { watchBackends } from './probe-backends.ts';

const route = routeOf('vllm-a');
const { name } = route.backend.cluster;
const refused: ModelsAnswer = { kind: 'fails', cause: 'credential-refused', status: 401 };

const answers: ModelsAnswer = { kind: 'lists' };
const fault = (cause: Cause): Fault => ({ kind: 'status', detail: '', cause });

function watching(endpoints: readonly string[] = ['10.0.0.1:8000']) {
  const clock = createFakeClock(0);
  const asked: string[] = [];
  let answer: (endpoint: string) => ModelsAnswer = () => answers;
  /** The faults of endpoints that get no requests. */
  const out = new Map<string, Fault>();
  let answeredAt: number | undefined;
  const onRecovered = vi.fn<(routes: readonly Route[]) => void>();
  const probes = watchBackends({
    ...{ clock, readError: () => ({ engineError: 'other' }), onRecovered },
    health: {
      record: () => ({ answeredAt, failing: undefined, refusal: undefined, triedAt: undefined }),
      ejected: () => [...out.keys()],
      recovered: (_, endpoint, rulesOut) => {
        const own = out.get(endpoint);
        if (own !== undefined && rulesOut(own)) out.delete(endpoint);
      },
    },
    endpoints: {
      of: () =>
        endpoints.map((one) => ({ ...{ name: one, address: one, port: 8000, authority: one, zone: undefined } })),
    },
    ask: async (_, { endpoint }) => {
      asked.push(endpoint);
      return answer(endpoint);
    },
  });
  probes.follow([route]);
  return {
    probes,
    asked: () => asked.splice(0),
    set: (to: typeof answer) => void (answer = to),
    ...{ out, onRecovered },
    answered: (at: number) => void (answeredAt = at),
    pass: async (ms: number) => {
      clock.advance(ms);
      for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    },
  };
}

it('asks a Backend once, and again only while it is not well', async () => {
  const { probes, asked, set, out, pass } = watching();
  await pass(2_000);
  expect([asked(), probes.of(name)?.answer]).toEqual([['10.0.0.1:8000'], answers]);
  await pass(120_000);
  expect(asked()).toEqual([]);
  out.set('10.0.0.1:8000', fault('credential-refused'));
  set(() => refused);
  await pass(2_000);
  expect([asked().length, probes.of(name)?.answer]).toEqual([1, refused]);
  await pass(8_000);
  expect(asked()).toEqual([]);
  await pass(2_000);
  expect(asked()).toHaveLength(1);
});

it('takes a Backend for failing only if each endpoint that it asks fails', async () => {
  const { probes, asked, set, pass } = watching(['a:1', 'b:1', 'c:1', 'd:1']);
  set((endpoint) => (endpoint === 'b:1' ? refused : answers));
  await pass(2_000);
  expect([asked(), probes.of(name)?.answer]).toEqual([['b:1', 'c:1'], answers]);
});

it('asks the endpoints that get no requests first, and gives back those that answer', async () => {
  const { asked, set, out, pass, onRecovered } = watching(['a:1', 'b:1', 'c:1', 'd:1']);
  await pass(2_000);
  asked();
  for (const one of ['c:1', 'd:1']) out.set(one, fault('connection-refused'));
  set((endpoint) => (endpoint === 'c:1' ? { kind: 'unclear' } : { kind: 'fails', cause: 'connection-refused' }));
  await pass(10_000);
  expect([asked().toSorted().slice(0, 2), [...out.keys()]]).toEqual([['c:1', 'd:1'], ['d:1']]);
  expect(onRecovered).not.toHaveBeenCalled();
  set(() => answers);
  await pass(10_000);
  expect([...out.keys(), onRecovered.mock.calls.length]).toEqual([1]);
});

it('takes only a repair that it has seen for the end of what an answer does not rule out', async () => {
  const { set, out, pass } = watching();
  await pass(2_000);
  out.set('10.0.0.1:8000', fault('server-error'));
  await pass(20_000);
  expect([...out.keys()]).toHaveLength(1);
  set(() => ({ kind: 'fails', cause: 'connection-refused' }));
  await pass(10_000);
  set(() => answers);
  await pass(10_000);
  expect([...out.keys()]).toEqual([]);
});

it.each([
  ['connection-refused', 1],
  ['silent', 0],
] as const)(
  'leaves out an endpoint that is silent to requests, where a probe failed before: %s',
  async (cause, left) => {
    const { set, out, pass } = watching();
    set(() => ({ kind: 'fails', cause }));
    await pass(2_000);
    out.set('10.0.0.1:8000', fault('silent'));
    set(() => answers);
    await pass(10_000);
    expect([...out.keys()]).toHaveLength(left);
  },
);

it('forgets a Backend that changes, and tries it anew', async () => {
  const { probes, out, pass } = watching();
  await pass(2_000);
  out.set('10.0.0.1:8000', fault('credential-refused'));
  probes.follow([routeOf('vllm-a')]);
  expect([probes.of(name)?.answer, out.size]).toEqual([answers, 1]);
  probes.follow([{ ...route, backend: { ...route.backend, headers: [['authorization', 'another']] } }]);
  expect([probes.of(name), out.size]).toEqual([undefined, 0]);
  probes.follow([routeOf('vllm-b')]);
  expect(probes.of(name)).toBeUndefined();
});

it('counts a Backend as down while it fails, unless a request was answered since it began to', async () => {
  const { probes, set, answered, pass } = watching();
  set(() => refused);
  await pass(2_000);
  expect(probes.isDown(route)).toBe(true);
  await pass(20_000);
  expect(probes.of(name)).toMatchObject({ at: 22_000, since: 2_000 });
  answered(10_000);
  expect(probes.isDown(route)).toBe(false);
});

it('does not count a Backend as down that is only slow to list its models', async () => {
  const { probes, set, pass } = watching();
  set(() => ({ kind: 'fails', cause: 'silent' }));
  await pass(2_000);
  expect([probes.isDown(route), probes.of(name)?.answer.kind]).toEqual([false, 'fails']);
});
