import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { KubeObject } from '../../core/catalog.ts';
import { createEvents } from './events.ts';
import { microTime } from './leases.ts';

function begin() {
  const clock = createFakeClock();
  const calls: { readonly method: 'POST' | 'PATCH'; readonly body: unknown }[] = [];
  const record = (method: 'POST' | 'PATCH') => (given: { readonly body: unknown }) => {
    // As it is sent: times become text.
    calls.push({ method, body: JSON.parse(JSON.stringify(given.body)) });
    return Promise.resolve({ metadata: {}, eventTime: microTime(0) });
  };
  const client = { events: { createNamespacedEvent: record('POST'), patchNamespacedEvent: record('PATCH') } };
  const onError = (error: unknown): void => expect.unreachable(String(error));
  const events = createEvents({ client, namespace: 'a', instance: 'weir-0', clock, random: () => 0.5, onError });
  return { clock, calls, events };
}

const object = (name: string): KubeObject => ({
  ...{ kind: 'Model', name, uid: `uid-${name}`, generation: 1, resourceVersion: '1' },
  ...{ finalizers: [], annotations: {}, status: undefined, declared: { where: `Model/${name}`, value: {} } },
});
const unlisted = { severity: 'Warning', reason: 'Unlisted', action: 'Judge', note: 'below' } as const;

it('counts an event that repeats, and writes it anew after a while', async () => {
  const { clock, calls, events } = begin();
  for (let time = 0; time < 3; time += 1) events.report(object('a'), unlisted);
  await events.close();
  expect(calls.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
  expect(calls[0]?.body).toMatchObject({
    ...{ type: 'Warning', reason: 'Unlisted', note: 'below', reportingInstance: 'weir-0' },
    eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
    regarding: { kind: 'Model', name: 'a', uid: 'uid-a', namespace: 'a' },
  });
  expect(calls[2]?.body).toMatchObject({ series: { count: 3 } });
  clock.advance(11 * 60_000);
  events.report(object('a'), unlisted);
  await events.close();
  expect(calls[3]?.method).toBe('POST');
});

it('lets no object drown the others', async () => {
  const { clock, calls, events } = begin();
  for (let time = 0; time < 50; time += 1) events.report(object('flapping'), { ...unlisted, note: String(time) });
  events.report(object('quiet'), unlisted);
  await events.close();
  expect(calls).toHaveLength(11);
  clock.advance(31_000);
  events.report(object('flapping'), { ...unlisted, note: 'later' });
  await events.close();
  expect(calls).toHaveLength(12);
});

it('cuts what the API server would refuse for its length', async () => {
  const { calls, events } = begin();
  events.report(object('a'), { ...unlisted, note: 'x'.repeat(5_000) });
  await events.close();
  expect(calls[0]?.body).toMatchObject({ note: `${'x'.repeat(1_021)}…` });
});
