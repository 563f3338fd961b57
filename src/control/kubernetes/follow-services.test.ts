import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { FoundEndpoints, ServiceSource } from '../../core/endpoint.ts';
import type { KubeClient, KubeWatch } from './client.ts';
import type { EndpointsBySource } from './follow-on-demand.ts';
import { followServices } from './follow-services.ts';

type Say = (type: string, object: object) => void;

const source = (service: string, port: number | string = 'http'): ServiceSource => ({ kind: 'service', service, port });
const about = (name: string, version: number) => ({ name, resourceVersion: String(version) });

function slice(service: string, version: number, ...addresses: readonly string[]) {
  return {
    metadata: { ...about(`${service}-x`, version), labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8000 }],
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  };
}
const serviceOf = (name: string, version: number, port = 80) => ({
  metadata: about(name, version),
  spec: { ports: [{ name: 'http', port }] },
});

/** An API server whose lists and events a test decides; one that is away until `answer` is called if there are no lists. */
function begin(
  lists: { readonly slices?: readonly object[]; readonly services?: readonly object[] },
  kept?: EndpointsBySource,
) {
  const clock = createFakeClock();
  const calls: string[] = [];
  const watches = new Map<string, Say>();
  const state = { slices: lists.slices, services: lists.services };
  const list = (of: 'slices' | 'services'): Promise<object> => {
    calls.push(`list ${of}`);
    const items = state[of];
    if (items === undefined) return Promise.reject(new Error('away'));
    return Promise.resolve({ metadata: { resourceVersion: '5' }, items });
  };
  const subjectOf = (path: string) => (path.includes('endpointslices') ? 'slices' : 'services');
  const client: Pick<KubeClient, 'list' | 'watch'> = {
    list: (path) => list(subjectOf(path)),
    watch: (path: string, { signal, onOpen, onLine }: KubeWatch) =>
      new Promise<void>((resolve) => {
        const of = subjectOf(path);
        calls.push(`watch ${of}`);
        watches.set(of, (type, object) => onLine(JSON.stringify({ type, object })));
        signal.addEventListener('abort', () => {
          calls.push(`end ${of}`);
          resolve();
        });
        onOpen();
      }),
  };
  let changes = 0;
  const troubles: unknown[] = [];
  const follower = followServices({
    ...{ client, namespace: 'models', clock, random: () => 0, kept: kept ?? new Map() },
    onChange: () => void (changes += 1),
    onTroubles: (found) => troubles.push(found),
  });
  function follow(wanted: ServiceSource) {
    const found: FoundEndpoints[] = [];
    const stop = follower.follow(wanted, { scheme: 'http', onFound: (one) => found.push(one) });
    return { stop, found, told: () => found.map(({ endpoints }) => endpoints.map(({ address }) => address)) };
  }
  const say = (of: 'slices' | 'services', type: string, object: object): void => watches.get(of)?.(type, object);
  return { clock, calls, follower, follow, say, state, troubles, changes: () => changes };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
};

it('asks the API server for nothing until a Service is followed, and for nothing after the last one is left', async () => {
  const { calls, follower, follow } = begin({ slices: [], services: [] });
  await settled();
  expect(calls).toEqual([]);
  expect(follower.inStepAt()).toBe(Infinity);
  const [a, b] = [follow(source('a')), follow(source('b'))];
  await settled();
  expect(calls.toSorted()).toEqual(['list services', 'list slices', 'watch services', 'watch slices']);
  a.stop();
  expect(calls).toHaveLength(4);
  b.stop();
  await settled();
  expect(calls.slice(4).toSorted()).toEqual(['end services', 'end slices']);
  follow(source('a'));
  await settled();
  expect(calls.slice(6)).toHaveLength(4);
  await follower.close();
});

/** Longer than changes are gathered. */
const gatheredMs = 50;

it('tells a change at once, to those whom it concerns alone', async () => {
  const { clock, follower, follow, say, changes } = begin({
    slices: [slice('a', 1, '10.0.0.1'), slice('b', 2, '10.0.0.9')],
    services: [serviceOf('a', 3), serviceOf('b', 4)],
  });
  const [a, b] = [follow(source('a')), follow(source('b', 80))];
  await settled();
  expect([a.told(), b.told()]).toEqual([[['10.0.0.1']], [['10.0.0.9']]]);
  clock.advance(gatheredMs);
  say('slices', 'MODIFIED', slice('a', 6, '10.0.0.1', '10.0.0.2'));
  expect(a.told()).toEqual([['10.0.0.1'], ['10.0.0.1', '10.0.0.2']]);
  clock.advance(gatheredMs);
  say('slices', 'MODIFIED', slice('a', 7, '10.0.0.2'));
  expect(a.told()).toEqual([['10.0.0.1'], ['10.0.0.1', '10.0.0.2'], ['10.0.0.2']]);
  clock.advance(gatheredMs);
  say('slices', 'DELETED', slice('a', 8));
  expect(a.found.at(-1)).toEqual({ endpoints: [], trouble: 'spec.service: Service "a" has no EndpointSlice yet' });
  expect(b.told()).toHaveLength(1);
  expect(changes()).toBe(5);
  await follower.close();
});

describe('a Service whose pods flap', () => {
  const up = (version: number) => slice('a', version, '10.0.0.1', '10.0.0.2');
  const down = (version: number) => slice('a', version, '10.0.0.1');
  const start = async () => {
    const begun = begin({ slices: [up(1)], services: [serviceOf('a', 2)] });
    const a = begun.follow(source('a'));
    await settled();
    begun.clock.advance(gatheredMs);
    return { ...begun, a };
  };

  it('is told at its first change and once for each time of gathering, with what is so at its end', async () => {
    const { clock, follower, say, a } = await start();
    for (let version = 10; version < 510; version += 1)
      say('slices', 'MODIFIED', version % 2 === 0 ? down(version) : up(version));
    expect(a.told()).toEqual([['10.0.0.1', '10.0.0.2'], ['10.0.0.1']]);
    clock.advance(gatheredMs);
    expect(a.told().slice(2)).toEqual([['10.0.0.1', '10.0.0.2']]);
    clock.advance(10 * gatheredMs);
    expect(a.told()).toHaveLength(3);
    // A single change is told at once again.
    say('slices', 'MODIFIED', down(600));
    expect(a.told().slice(3)).toEqual([['10.0.0.1']]);
    await follower.close();
  });

  it('is told of each change that comes after the time of gathering', async () => {
    const { clock, follower, say, a } = await start();
    for (let version = 10; version < 30; version += 1) {
      say('slices', 'MODIFIED', version % 2 === 0 ? down(version) : up(version));
      clock.advance(gatheredMs);
    }
    expect(a.told()).toHaveLength(21);
    await follower.close();
  });

  it('is gathered for longer where it has thousands of pods', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `10.${index >> 8}.${index & 255}.1`);
    const { clock, follower, follow, say } = begin({
      slices: [slice('a', 1, ...many)],
      services: [serviceOf('a', 2)],
    });
    const { found } = follow(source('a'));
    await settled();
    say('slices', 'MODIFIED', slice('a', 6, ...many.slice(1)));
    clock.advance(5 * gatheredMs - 1);
    expect(found).toHaveLength(1);
    clock.advance(1);
    expect(found.map(({ endpoints }) => endpoints.length)).toEqual([5_000, 4_999]);
    await follower.close();
  });

  it('keeps the endpoints of slices that have not changed as they are', async () => {
    const other = { ...slice('a', 3, '10.0.0.9'), metadata: { ...slice('a', 3).metadata, name: 'a-y' } };
    const { clock, follower, follow, say } = begin({ slices: [up(1), other], services: [serviceOf('a', 2)] });
    const { found } = follow(source('a'));
    await settled();
    clock.advance(gatheredMs);
    say('slices', 'MODIFIED', down(6));
    const at9 = found.map(({ endpoints }) => endpoints.find(({ address }) => address === '10.0.0.9'));
    expect(at9).toHaveLength(2);
    expect(at9[0]).toBe(at9[1]);
    await follower.close();
  });

  it('leaves no timer when nothing follows it any more, whatever a closing watch says', async () => {
    const { clock, follower, say, a } = await start();
    say('slices', 'MODIFIED', down(6));
    say('slices', 'MODIFIED', up(7));
    a.stop();
    say('slices', 'MODIFIED', down(8));
    await settled();
    expect(clock.armed()).toBe(0);
    expect(a.told()).toHaveLength(2);
    await follower.close();
  });
});

it('does not tell of a version in which nothing has changed', async () => {
  const { follower, follow, say } = begin({ slices: [slice('a', 1, '10.0.0.1')], services: [serviceOf('a', 2)] });
  const a = follow(source('a'));
  await settled();
  say('slices', 'MODIFIED', slice('a', 6, '10.0.0.1'));
  expect(a.told()).toHaveLength(1);
  await follower.close();
});

it('knows a Service that is followed later at once', async () => {
  const { follower, follow } = begin({ slices: [slice('a', 1, '10.0.0.1')], services: [serviceOf('a', 2)] });
  follow(source('a'));
  await settled();
  expect(follow(source('a', 80)).told()).toEqual([['10.0.0.1']]);
  await follower.close();
});

it('follows a port’s number to another port of the pods', async () => {
  const { clock, follower, follow, say } = begin({
    slices: [slice('a', 1, '10.0.0.1')],
    services: [serviceOf('a', 2)],
  });
  const a = follow(source('a', 80));
  await settled();
  clock.advance(gatheredMs);
  say('services', 'MODIFIED', serviceOf('a', 6, 8080));
  expect(a.found.at(-1)?.trouble).toBe('spec.service.port: Service "a" has no TCP port 80; it has 8080 (http)');
  clock.advance(gatheredMs);
  say('services', 'MODIFIED', serviceOf('a', 7, 80));
  expect(a.told()).toEqual([['10.0.0.1'], [], ['10.0.0.1']]);
  await follower.close();
});

const last = { name: '10.0.0.7:8000', address: '10.0.0.7', port: 8000, authority: 'a.models.svc', zone: undefined };

it('takes the endpoints that were known last when the API server is away, until it is back', async () => {
  const { clock, follower, follow, state, troubles } = begin({}, new Map([['http a http', [last]]]));
  const [a, b] = [follow(source('a')), follow(source('b'))];
  await settled();
  clock.advance(999);
  expect(a.told()).toEqual([]);
  clock.advance(1);
  expect([a.found, b.found]).toEqual([
    [{ endpoints: [last], trouble: undefined }],
    [{ endpoints: [], trouble: 'spec.service: not known yet: away' }],
  ]);
  expect(troubles).toEqual([
    [
      { of: 'endpointslices', reason: 'away' },
      { of: 'services', reason: 'away' },
    ],
  ]);
  expect(follower.inStepAt()).toBeUndefined();
  expect(follower.known().get('http a http')).toEqual([last]);
  Object.assign(state, { slices: [slice('a', 1, '10.0.0.1')], services: [serviceOf('a', 2)] });
  await settled();
  for (let ms = 0; ms < 6_000; ms += 50) {
    clock.advance(50);
    await settled();
  }
  expect(a.told().at(-1)).toEqual(['10.0.0.1']);
  expect(troubles.at(-1)).toEqual([]);
  expect(follower.inStepAt()).toBe(clock.now());
  await follower.close();
});

it('needs the right to read Services for a port’s number alone', async () => {
  const { clock, follower, follow } = begin({ slices: [slice('a', 1, '10.0.0.1')] });
  const [byName, byNumber] = [follow(source('a')), follow(source('a', 80))];
  await settled();
  clock.advance(1_000);
  expect(byName.told()).toEqual([['10.0.0.1']]);
  expect(byNumber.found).toEqual([{ endpoints: [], trouble: 'spec.service: not known yet: away' }]);
  await follower.close();
});
