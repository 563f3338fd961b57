import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Cluster } from '../../src/core/catalog.ts';
import { startEnvoy } from './support/envoy.ts';
import { at, clustersOf } from './support/give-clusters.ts';
import { forFile } from '../support/for-file.ts';

const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

interface Endpoint {
  readonly server: Server;
  readonly heads: (readonly string[])[];
  /** Requests that wait for `release`. */
  readonly held: ServerResponse[];
}

const endpoints = new Map<string, Endpoint>();
let port: number;
/** Answers to `hold`. */
const waiting: Promise<string>[] = [];
let round = 0;
let cluster: string;

async function listen(address: string, wanted: number): Promise<Endpoint> {
  const heads: (readonly string[])[] = [];
  const held: ServerResponse[] = [];
  const server = createServer((asked, response) => {
    if (asked.url === '/health') return void response.end('ok');
    heads.push(asked.rawHeaders);
    if (asked.url === '/hold') return void held.push(response);
    response.end(address);
  });
  server.listen(wanted, address);
  await once(server, 'listening');
  return { server, heads, held };
}

async function end({ server }: Endpoint): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

const envoy = await forFile(startEnvoy());
const clusters = await forFile(clustersOf(envoy));

beforeEach(async () => {
  const [first = '', ...others] = addresses;
  const one = await listen(first, 0);
  port = (one.server.address() as AddressInfo).port;
  endpoints.set(first, one);
  for (const address of others) endpoints.set(address, await listen(address, port));
});

afterEach(async () => {
  for (const endpoint of endpoints.values()) await end(endpoint);
  endpoints.clear();
});

/** Gives Envoy a cluster of all endpoints. */
async function addCluster(more: Partial<Cluster> = {}): Promise<void> {
  round += 1;
  cluster = `pool-${round}`;
  await giveCluster(addresses, more);
  await expect.poll(() => usable()).toEqual(addresses);
}

async function giveCluster(hosts: readonly string[], more: Partial<Cluster> = {}): Promise<void> {
  await clusters.give([
    { name: cluster, backend: cluster, endpoints: at(port, ...hosts), tls: { mode: 'Disabled' }, ...more },
  ]);
}

/** The addresses that Envoy would call. */
async function usable(): Promise<readonly string[]> {
  const states = [...(await envoy.admin('/clusters')).matchAll(/^(\S+)::([\d.]+):\d+::health_flags::(\S+)$/gm)];
  return states
    .filter(([, name, , state]) => name === cluster && state === 'healthy')
    .map(([, , at = '']) => at)
    .toSorted();
}

async function ask(affinity: string | undefined, path = '/'): Promise<string> {
  const asked = request({
    socketPath: envoy.files.egressSocket,
    agent: false,
    method: 'POST',
    path,
    headers: {
      host: 'engines.example',
      'x-weir-cluster': cluster,
      ...(affinity === undefined ? {} : { 'x-weir-affinity': affinity }),
    },
  }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const failure = response.headers['x-weir-egress-failure'];
  const body = await text(response);
  return failure === undefined ? body : String(failure);
}

const digests = Array.from({ length: 500 }, (_, at) => `digest-${at}`);

/** Where each digest goes, asked one after the other. */
async function homes(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const digest of digests) found.set(digest, await ask(digest));
  return found;
}

/** How many requests each endpoint has had. */
const counts = (): readonly number[] => [...endpoints.values()].map(({ heads }) => heads.length);

const heldBy = (address: string): number => endpoints.get(address)?.held.length ?? 0;
const heldByAll = (): number => addresses.reduce((sum, address) => sum + heldBy(address), 0);

/** Makes requests wait at their endpoints, one after the other, and tells in which order they got there. */
async function hold(affinity: string, count: number): Promise<readonly string[]> {
  const order: string[] = [];
  for (let had = heldByAll(), asked = 0; asked < count; had += 1, asked += 1) {
    const before = new Map(addresses.map((address) => [address, heldBy(address)]));
    waiting.push(ask(affinity, '/hold'));
    await expect.poll(heldByAll, { interval: 2 }).toBe(had + 1);
    order.push(...addresses.filter((address) => heldBy(address) > (before.get(address) ?? 0)));
  }
  return order;
}

/** Ends the waiting requests, and waits until Envoy has noticed. */
async function release(): Promise<void> {
  for (const { held } of endpoints.values()) for (const response of held.splice(0)) response.end();
  await Promise.all(waiting.splice(0));
}

async function stop(address: string): Promise<void> {
  const endpoint = endpoints.get(address);
  endpoints.delete(address);
  if (endpoint !== undefined) await end(endpoint);
}

/** Digests of endpoints other than `gone` that went elsewhere: Maglev may move a few. */
function movedOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>, gone: string): number {
  return digests.filter((digest) => before.get(digest) !== gone && after.get(digest) !== before.get(digest)).length;
}
const fewOf = digests.length / 50;

describe('affinity', () => {
  it('brings the same digest to the same endpoint, and different ones to all', async () => {
    await addCluster();
    const first = await homes();
    expect(await homes()).toEqual(first);
    expect(await homes()).toEqual(first);
    const even = digests.length / addresses.length;
    for (const address of addresses) {
      const share = [...first.values()].filter((home) => home === address).length;
      expect(share).toBeGreaterThan(even / 2);
      expect(share).toBeLessThan(even * 1.5);
    }
  });

  it('is no secret that an engine learns', async () => {
    await addCluster();
    await ask('digest');
    const heads = [...endpoints.values()].flatMap((endpoint) => endpoint.heads);
    expect(heads).toEqual([['host', 'engines.example', 'content-length', '0']]);
  });

  it('spreads what has no digest over all', async () => {
    await addCluster();
    for (let asked = 0; asked < 400; asked += 1) await ask(undefined);
    for (const count of counts()) expect(count).toBeGreaterThan(50);
  });

  it('lets a hot digest spill over when its endpoint has half as much again as its share, and no earlier', async () => {
    await addCluster();
    const home = await ask('hot');
    const order = await hold('hot', 40);
    expect(order.slice(0, 2)).toEqual([home, home]);
    // Half as much again as a quarter of 40, and the one that reaches it: three endpoints are enough.
    for (const address of addresses) expect(heldBy(address)).toBeLessThanOrEqual(16);
    expect(heldBy(home)).toBeGreaterThanOrEqual(15);
    expect(new Set(order).size).toBe(3);
    await release();
    // Only what is under way counts: after twenty times its share, the home has room again.
    expect(await hold('hot', 2)).toEqual([home, home]);
    await release();
  });

  it('gives a hot digest the same second home each time', async () => {
    await addCluster();
    const order = await hold('hot', 12);
    await release();
    expect(new Set(order).size).toBeGreaterThan(1);
    expect(await hold('hot', 12)).toEqual(order);
    await release();
  });
});

describe('an endpoint that dies', () => {
  const dead = '127.0.0.2';
  const others = addresses.filter((address) => address !== dead);

  it('fails its health check: its digests go to all others, theirs stay, and all come back with it', async () => {
    await addCluster({ healthCheck: { path: '/health', intervalSeconds: 1 } });
    const before = await homes();
    await stop(dead);
    await expect.poll(usable).toEqual(others);
    const after = await homes();
    expect(movedOf(before, after, dead)).toBeLessThanOrEqual(fewOf);
    const orphans = digests.filter((digest) => before.get(digest) === dead);
    expect(new Set(orphans.map((digest) => after.get(digest)))).toEqual(new Set(others));
    endpoints.set(dead, await listen(dead, port));
    // Envoy gathers changes of health for up to a second before it picks by them.
    await expect.poll(homes).toEqual(before);
  });

  it('is put out without a health check, too, where no call names its endpoint', async () => {
    await addCluster({ endpointsUnnamed: true });
    const before = await homes();
    await stop(dead);
    const during = await homes();
    expect([...during.values()].filter((answer) => !addresses.includes(answer)).length).toBe(0);
    expect(await usable()).toEqual(others);
    expect(movedOf(before, during, dead)).toBeLessThanOrEqual(fewOf);
  });

  it('and leaves the cluster moves no more than its own', async () => {
    await addCluster();
    const before = await homes();
    await giveCluster(others);
    expect(await usable()).toEqual(others);
    expect(movedOf(before, await homes(), dead)).toBeLessThanOrEqual(fewOf);
  });
});
