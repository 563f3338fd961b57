import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { ModelsAnswer } from '../../gateway/egress/ask-models.ts';
import { watchBackends } from './probe-backends.ts';

const route = routeOf('vllm-a');
const { name } = route.backend.cluster;
const refused: ModelsAnswer = { kind: 'fails', cause: 'credential-refused', status: 401 };

function watching(endpoints: readonly string[] = ['10.0.0.1:8000']) {
  const clock = createFakeClock(0);
  const asked: string[] = [];
  let answer: (endpoint: string) => ModelsAnswer = () => ({ kind: 'lists' });
  let isFailing = false;
  const probes = watchBackends({
    ...{ clock, isFailing: () => isFailing, readError: () => ({ engineError: 'other' }) },
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
    set: (to: { answer?: typeof answer; isFailing?: boolean }) => {
      answer = to.answer ?? answer;
      isFailing = to.isFailing ?? isFailing;
    },
    pass: async (ms: number) => {
      clock.advance(ms);
      for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    },
  };
}

it('asks a Backend once, and again only while it is not well', async () => {
  const { probes, asked, set, pass } = watching();
  await pass(2_000);
  expect([asked(), probes.of(name)?.answer]).toEqual([['10.0.0.1:8000'], { kind: 'lists' }]);
  await pass(120_000);
  expect(asked()).toEqual([]);
  set({ isFailing: true, answer: () => refused });
  await pass(2_000);
  expect([asked().length, probes.of(name)?.answer]).toEqual([1, refused]);
  set({ isFailing: false });
  await pass(10_000);
  expect(asked()).toEqual([]);
  await pass(10_000);
  expect(asked()).toHaveLength(1);
});

it('takes a Backend for failing only if each endpoint that it asks fails', async () => {
  const { probes, asked, set, pass } = watching(['a:1', 'b:1', 'c:1', 'd:1']);
  set({ answer: (endpoint) => (endpoint === 'b:1' ? refused : { kind: 'lists' }) });
  await pass(2_000);
  expect([asked(), probes.of(name)?.answer]).toEqual([['b:1', 'c:1'], { kind: 'lists' }]);
});

it('forgets a Backend that changes', async () => {
  const { probes, pass } = watching();
  await pass(2_000);
  probes.follow([routeOf('vllm-b')]);
  expect(probes.of(name)).toBeUndefined();
});
