import { beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import type { Cluster } from '../../core/catalog.ts';
import type { Endpoint, FollowEndpoints, FoundEndpoints } from '../../core/endpoint.ts';
import { createEndpointTable, type EndpointTable } from './follow-endpoints.ts';

let clock: FakeClock;
let table: EndpointTable;
/** What Envoy was told, in order, and not answered to yet. */
let told: { readonly cluster: string; readonly names: readonly string[]; readonly take: () => Promise<void> }[];
let dropped: string[];
/** Hosts that are followed, each with what tells its endpoints. */
let followed: Map<string, (found: FoundEndpoints) => void>;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

const find: FollowEndpoints = (source, { onFound }) => {
  if (source.kind !== 'hosts') throw new Error('only hosts are followed here');
  const host = String(source.hosts[0]?.host);
  followed.set(host, onFound);
  return () => followed.delete(host);
};

beforeEach(() => {
  clock = createFakeClock();
  told = [];
  dropped = [];
  followed = new Map();
  table = createEndpointTable({
    clock,
    discovery: {
      set: (cluster, endpoints) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const take = (): Promise<void> => {
          resolve();
          return turns();
        };
        told.push({ cluster, names: endpoints.map(({ name }) => name), take });
        return promise;
      },
      drop: (cluster) => dropped.push(cluster),
    },
  });
});

const cluster = (name: string, host = `${name}.svc`): Cluster => ({
  name,
  backend: name,
  endpoints: { kind: 'hosts', hosts: [{ host, port: 8000 }] },
  tls: { mode: 'Disabled' },
});

const endpoint = (name: string): Endpoint => ({
  ...{ name, address: name, port: 8000, authority: 'x', zone: undefined },
});
const found = (...names: readonly string[]): FoundEndpoints => ({
  endpoints: names.map(endpoint),
  trouble: names.length === 0 ? 'there are none' : undefined,
});

const tell = (host: string, now: FoundEndpoints): void => followed.get(host)?.(now);
const namesOf = (name: string): readonly string[] => table.of(name).map((one) => one.name);

/** Begins to follow, and tells whether that has ended. */
function follow(...clusters: readonly Cluster[]): { isDone: boolean } {
  const state = { isDone: false };
  void table.follow(clusters, find).then(() => {
    state.isDone = true;
  });
  return state;
}

describe('following clusters', () => {
  it('ends when the endpoints of each are known and Envoy has them, and leaves no timer', async () => {
    const following = follow(cluster('a'), cluster('b'));
    tell('a.svc', found('1'));
    await turns();
    await told[0]?.take();
    expect(following.isDone).toBe(false);
    tell('b.svc', found());
    await told[1]?.take();
    expect(following.isDone).toBe(true);
    expect([namesOf('a'), namesOf('b'), namesOf('unknown')]).toEqual([['1'], [], []]);
    expect(clock.armed()).toBe(0);
  });

  it('waits 2 s, once, for a cluster whose endpoints cannot be found, which then has none until they are', async () => {
    const following = follow(cluster('a'), cluster('slow'));
    tell('a.svc', found('1'));
    await told[0]?.take();
    clock.advance(1_999);
    await turns();
    expect(following.isDone).toBe(false);
    clock.advance(1);
    await turns();
    expect(following.isDone).toBe(true);
    expect(told.map(({ cluster: name, names }) => [name, names])).toEqual([
      ['a', ['1']],
      ['slow', []],
    ]);
    const again = follow(cluster('a'), cluster('slow'));
    await turns();
    expect(again.isDone).toBe(true);
    tell('slow.svc', found('2'));
    await told[2]?.take();
    expect(namesOf('slow')).toEqual(['2']);
  });

  it('goes on with those that it follows already, without a word to Envoy', async () => {
    follow(cluster('a'));
    tell('a.svc', found('1'));
    await told[0]?.take();
    const before = table.of('a');
    const following = follow(cluster('a'));
    await turns();
    expect(following.isDone).toBe(true);
    expect(told).toHaveLength(1);
    expect(table.of('a')).toBe(before);
  });

  it('follows no others any more', async () => {
    follow(cluster('a'), cluster('b'));
    tell('a.svc', found('1'));
    tell('b.svc', found('2'));
    follow(cluster('b'));
    expect([[...followed.keys()], dropped, namesOf('a')]).toEqual([['b.svc'], ['a'], []]);
    await told[0]?.take();
    expect([namesOf('a'), table.found('a')]).toEqual([[], undefined]);
    table.close();
    expect([...followed.keys()]).toEqual([]);
  });

  it('looks for the endpoints anew when a cluster names other hosts, and uses the old ones until then', async () => {
    follow(cluster('a'));
    tell('a.svc', found('1', '2'));
    await told[0]?.take();
    const following = follow(cluster('a', 'other.svc'));
    expect([[...followed.keys()], namesOf('a'), dropped]).toEqual([['other.svc'], ['1', '2'], []]);
    tell('other.svc', found('2', '3'));
    await told[1]?.take();
    expect([following.isDone, namesOf('a')]).toEqual([true, ['2', '3']]);
  });
});

describe('a change of endpoints', () => {
  beforeEach(async () => {
    follow(cluster('a'));
    tell('a.svc', found('1', '2'));
    await told.shift()?.take();
  });

  it('is used once Envoy has it, and what is gone leaves at once', async () => {
    tell('a.svc', found('2', '3'));
    expect(namesOf('a')).toEqual(['2']);
    await told[0]?.take();
    expect(namesOf('a')).toEqual(['2', '3']);
  });

  it('that is overtaken by another is never used', async () => {
    tell('a.svc', found('1', '2', '3'));
    tell('a.svc', found('1', '4'));
    await told[0]?.take();
    expect(namesOf('a')).toEqual(['1']);
    await told[1]?.take();
    expect(namesOf('a')).toEqual(['1', '4']);
  });

  it('is used although another word about it comes before Envoy has it', async () => {
    tell('a.svc', found('1', '2', '3'));
    tell('a.svc', { ...found('1', '2', '3'), trouble: 'a word' });
    expect(told).toHaveLength(1);
    await told[0]?.take();
    expect([namesOf('a'), table.found('a')?.trouble]).toEqual([['1', '2', '3'], 'a word']);
  });

  it('that is none changes nothing: Envoy is not told, and the array stays', () => {
    const before = table.of('a');
    tell('a.svc', found('1', '2'));
    expect([told.length, table.of('a') === before]).toEqual([0, true]);
  });

  it('to none leaves none at once, and says why', () => {
    tell('a.svc', found());
    expect([namesOf('a'), table.found('a')?.trouble]).toEqual([[], 'there are none']);
  });
});
