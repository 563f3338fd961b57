import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Cluster } from '../../src/core/catalog.ts';
import { startEnvoy } from './support/envoy.ts';
import { at, type ClustersOfEnvoy, clustersOf } from './support/give-clusters.ts';
import { forFile } from '../support/for-file.ts';

const [first, second, third] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];

interface Engine {
  readonly server: Server;
  readonly heads: (readonly string[])[];
  /** Answers to `/hold` that have begun. */
  readonly held: ServerResponse[];
  isHealthy: boolean;
  /** The host of its last health check. */
  checkedAs: string | undefined;
}

const engines = new Map<string, Engine>();
let clusters: ClustersOfEnvoy;
let port: number;
let cluster: string;
let round = 0;

async function listen(address: string, wanted: number): Promise<void> {
  const engine: Engine = {
    heads: [],
    held: [],
    isHealthy: true,
    checkedAs: undefined,
    server: createServer((asked, response) => {
      if (asked.url === '/health') {
        engine.checkedAs = asked.headers.host;
        response.statusCode = engine.isHealthy ? 200 : 503;
        return void response.end();
      }
      engine.heads.push(asked.rawHeaders);
      response.setHeader('x-weir-endpoint', 'forged');
      if (asked.url !== '/hold') return void response.end(address);
      response.write(address);
      return void engine.held.push(response);
    }),
  };
  engine.server.listen(wanted, address);
  await once(engine.server, 'listening');
  engines.set(address, engine);
}

async function stop(address: string): Promise<void> {
  const engine = engines.get(address);
  engines.delete(address);
  engine?.server.closeAllConnections();
  engine?.server.close();
}

const engineAt = (address: string): Engine => {
  const engine = engines.get(address);
  if (engine === undefined) throw new Error(`nobody listens at ${address}`);
  return engine;
};

const envoy = await forFile(startEnvoy());

beforeEach(async () => {
  clusters = await clustersOf(envoy);
  await listen(first, 0);
  port = (engineAt(first).server.address() as AddressInfo).port;
  for (const address of [second, third]) await listen(address, port);
  round += 1;
  cluster = `pool-${round}`;
});

afterEach(async () => {
  for (const address of engines.keys()) await stop(address);
  await clusters.close();
});

/** Gives Envoy the cluster of this test with these endpoints. */
const give = (addresses: readonly string[], more: Partial<Cluster> = {}): Promise<void> =>
  clusters.give([
    { name: cluster, backend: cluster, endpoints: at(port, ...addresses), tls: { mode: 'Disabled' }, ...more },
  ]);

const encoded = (address: string): string => Buffer.from(`${address}:${port}`).toString('base64');
const decoded = (value: string): string => Buffer.from(value, 'base64').toString();

interface Answer {
  readonly status: number;
  readonly response: IncomingMessage;
  /** The endpoint that Envoy says it has chosen. */
  readonly chosen: string | undefined;
  readonly failure: string | undefined;
}

/** Calls as the service does, up to the head of the answer. */
async function call(address: string | undefined, { path = '/', affinity = 'digest' } = {}): Promise<Answer> {
  const sent = request({
    socketPath: envoy.files.egressSocket,
    agent: false,
    method: 'POST',
    path,
    headers: {
      host: 'engine.example',
      'x-weir-cluster': cluster,
      'x-weir-affinity': affinity,
      ...(address === undefined ? {} : { 'x-weir-endpoint': encoded(address) }),
    },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const named = response.headers['x-weir-endpoint'];
  const failure = response.headers['x-weir-egress-failure'];
  return {
    status: response.statusCode ?? 0,
    response,
    chosen: named === undefined ? undefined : decoded(String(named)),
    failure: failure === undefined ? undefined : String(failure),
  };
}

/** Calls, reads the answer, and tells who gave it. */
async function ask(address: string | undefined, affinity?: string): Promise<Answer & { readonly by: string }> {
  const answer = await call(address, affinity === undefined ? {} : { affinity });
  return { ...answer, by: await text(answer.response) };
}

it('is used when it is named, whatever the digest says, and Envoy adds nothing', async () => {
  await give([first, second, third]);
  for (const address of [first, second, third, second, first]) {
    expect(await ask(address)).toMatchObject({ status: 200, by: address, chosen: undefined });
  }
  expect(engineAt(second).heads[0]).toEqual(['host', 'engine.example', 'content-length', '0']);
});

it('is chosen by the digest when none is named, and Envoy names its choice', async () => {
  await give([first, second, third]);
  const { by, chosen } = await ask(undefined);
  expect(chosen).toBe(`${by}:${port}`);
  for (let again = 0; again < 5; again += 1) expect((await ask(undefined)).by).toBe(by);
});

it('that is gone falls back to the one of the digest, and Envoy says so', async () => {
  await give([first, second]);
  const home = (await ask(undefined)).by;
  expect(await ask(third)).toMatchObject({ status: 200, by: home, chosen: `${home}:${port}` });
  for (const nonsense of ['nowhere', '', '999.1.1.1']) {
    expect(await ask(nonsense)).toMatchObject({ status: 200, by: home, chosen: `${home}:${port}` });
  }
});

it('that fails its health check falls back, and is used again when it passes', async () => {
  await give([first, second], { healthCheck: { path: '/health', intervalSeconds: 1 } });
  await expect.poll(async () => (await ask(second)).by).toBe(second);
  engineAt(second).isHealthy = false;
  await expect.poll(async () => (await ask(second)).by).toBe(first);
  expect(await ask(second)).toMatchObject({ status: 200, chosen: `${first}:${port}` });
  const seen = await clusters.publisher.look();
  expect(seen?.endpoints.get(cluster)).toEqual({
    total: 2,
    healthy: 1,
    failing: [{ endpoint: `${second}:${port}`, why: 'health-check' }],
  });
  engineAt(second).isHealthy = true;
  await expect.poll(async () => (await ask(second)).by).toBe(second);
  expect((await clusters.publisher.look())?.endpoints.get(cluster)).toEqual({ total: 2, healthy: 2, failing: [] });
});

it('that refuses connections is told as a failure each time: to leave it alone is for the service to decide', async () => {
  await give([first, second]);
  await stop(second);
  for (let asked = 0; asked < 20; asked += 1) {
    expect(await ask(second)).toMatchObject({ status: 503, failure: expect.stringContaining('UF') as unknown });
  }
  expect((await clusters.publisher.look())?.endpoints.get(cluster)).toEqual({ total: 2, healthy: 2, failing: [] });
});

it('that refuses connections is left alone by Envoy where nobody names endpoints', async () => {
  await give([first, second], { endpointsUnnamed: true });
  await stop(second);
  const answers: Answer[] = [];
  do answers.push(await ask(second));
  while (answers.at(-1)?.failure !== undefined && answers.length < 20);
  const failed = answers.slice(0, -1);
  expect(failed.map(({ failure }) => failure?.split(',')[0])).toEqual(failed.map(() => 'UF'));
  // Five in a row; another call may fail while the worker that counted them waits for Envoy's main thread to say so to all.
  expect(failed.length).toBeGreaterThanOrEqual(5);
  expect(answers.at(-1)).toMatchObject({ status: 200, chosen: `${first}:${port}` });
  expect((await clusters.publisher.look())?.endpoints.get(cluster)).toEqual({
    total: 2,
    healthy: 1,
    failing: [{ endpoint: `${second}:${port}`, why: 'outlier' }],
  });
});

it('that refuses connections costs a call nothing that names none', async () => {
  await give([first, second, third]);
  await stop(third);
  for (let asked = 0; asked < 60; asked += 1) {
    expect(await ask(undefined, `digest-${asked}`)).toMatchObject({ status: 200, failure: undefined });
  }
});

it('that leaves takes nothing new, and ends its streams whole', async () => {
  await give([first, second]);
  const stream = await call(second, { path: '/hold' });
  const [held] = engineAt(second).held;
  await give([first]);
  expect(await ask(second)).toMatchObject({ by: first, chosen: `${first}:${port}` });
  held?.write(' goes on');
  held?.end(' to its end');
  expect(await text(stream.response)).toBe(`${second} goes on to its end`);
});

it('that fails its health check when it leaves takes nothing new at once', async () => {
  await give([first, second], { healthCheck: { path: '/health', intervalSeconds: 1 } });
  await expect.poll(async () => (await ask(second)).by).toBe(second);
  await give([first], { healthCheck: { path: '/health', intervalSeconds: 1 } });
  expect(await ask(second)).toMatchObject({ by: first, chosen: `${first}:${port}` });
});

it('that is new is used at once: when the table has it, Envoy has it', async () => {
  await give([first]);
  for (let turn = 0; turn < 20; turn += 1) {
    await give([first, second]);
    expect(clusters.table.of(cluster).map(({ address }) => address)).toEqual([first, second]);
    expect(await ask(second)).toMatchObject({ by: second, chosen: undefined });
    await give([first]);
  }
});

it('changes without a new cluster', async () => {
  await give([first, second]);
  const names = ['added', 'modified', 'removed'].map((what) => `cluster_manager.cluster_${what}`);
  const before = await clusters.admin.stats(names);
  await give([first, second, third]);
  await give([first, third]);
  expect(await ask(third)).toMatchObject({ by: third });
  expect(await clusters.admin.stats(names)).toEqual(before);
});

it('is asked for its health by the host that a call has', async () => {
  await clusters.give([
    {
      ...{ name: cluster, backend: cluster, endpoints: at(port, 'localhost'), tls: { mode: 'Disabled' } },
      healthCheck: { path: '/health', intervalSeconds: 1 },
    },
  ]);
  await expect.poll(() => engineAt(first).checkedAs).toBe(`localhost:${port}`);
});

it('none is an answer: calls are refused at once, and served as soon as there is one', async () => {
  await give([]);
  expect(await ask(first)).toMatchObject({ status: 503, failure: 'UH' });
  await give([second]);
  expect(await ask(first)).toMatchObject({ status: 200, by: second });
});

it('stays while the service is away; an Envoy that was restarted asks again', async () => {
  await give([first, second]);
  await clusters.close();
  expect(await ask(second)).toMatchObject({ by: second });
  clusters = await clustersOf(envoy);
  await give([first, third]);
  await expect.poll(async () => (await ask(third)).by).toBe(third);
  await envoy.restart();
  await expect.poll(async () => (await ask(third)).by).toBe(third);
  expect((await clusters.publisher.look())?.endpoints.get(cluster)?.total).toBe(2);
});
