// @suite long
/** The pods of a release are replaced one by one under load: no request fails, and every stream comes to its end. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Image, imageIn } from '../support/image.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn, template } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { type PodTemplate, podOf } from './support/pod-shape.ts';
import { type Pod, startPod } from './support/pod.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';

const connection = inject('kubernetes');
// Endpoints follow readiness at once here; a cluster's proxies take some seconds.
const values = { crds: { install: false }, drain: { holdSeconds: 2, longestStreamSeconds: 60 } };
let image: Image;
let engine: ProgrammableEngine;
let postgres: Postgres;
let namespace: string;
let shape: PodTemplate;
let key: string;
const pods: Pod[] = [];
/** Those that a Service would send requests to. */
let endpoints: readonly Pod[] = [];

async function apply(manifest: string): Promise<void> {
  const { code, stderr } = await kubectl(connection, ['apply', '-n', namespace, '-f', '-'], manifest);
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

async function startOne(name: string): Promise<Pod> {
  const secrets = { 'weir-urls': { database: postgres.url } };
  const pod = await startPod(shape, { connection, namespace, app: image.app, name, secrets });
  pods.push(pod);
  await expect.poll(() => isReady(pod), { timeout: 90_000, interval: 100 }).toBe(true);
  return pod;
}

const isReady = async (pod: Pod): Promise<boolean> =>
  (await pod.probe('service', 'readinessProbe')) === 200 && (await pod.probe('envoy', 'readinessProbe')) === 200;

async function weir(pod: Pod, ...parameters: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await pod.exec('service', ['node', '/app/src/main.ts', ...parameters, '--json']);
  return JSON.parse(stdout) as Readonly<Record<string, string>>;
}

beforeAll(async () => {
  [image, engine, namespace, postgres] = await Promise.all([
    imageIn(inject('imageFolder')),
    startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }),
    makeNamespace(connection),
    startPostgres(),
  ]);
  const manifest = await template({ ...values, database: { url: postgres.url } }, { namespace });
  await apply(manifest);
  shape = podOf(objectsIn(manifest));
  await apply(backendManifest('alpha', engine) + modelManifest('test/model', ['alpha']));
}, 240_000);

afterAll(async () => {
  for (const pod of pods) await pod.remove();
  await postgres.close();
  await engine.close();
});

/** One chat with whichever pod is next, on a connection of its own. Rejects when it is cut. */
let turn = 0;
async function chat(directives: object, stream: boolean): Promise<{ readonly status: number; readonly body: string }> {
  turn += 1;
  const pod = endpoints[turn % endpoints.length];
  const sent = request({
    ...{ host: '127.0.0.1', port: pod?.port('edge'), method: 'POST', path: '/v1/chat/completions', agent: false },
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  const content = `Go on. [[demo ${JSON.stringify(directives)}]]`;
  sent.end(JSON.stringify({ model: 'test/model', stream, messages: [{ role: 'user', content }] }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

interface Load {
  readonly served: { short: number; streams: number };
  readonly failures: string[];
  readonly stop: () => Promise<void>;
}

/** Short answers and streams of several seconds, over and over. */
function beginLoad(): Load {
  const served = { short: 0, streams: 0 };
  const failures: string[] = [];
  let over = false;
  async function lane(kind: keyof typeof served): Promise<void> {
    const isStream = kind === 'streams';
    while (!over) {
      const answer = await chat(isStream ? { words: 100, tokenDelayMs: 40 } : { words: 3 }, isStream).catch(
        (error: unknown) => ({ status: 0, body: String(error) }),
      );
      const isWhole = answer.status === 200 && (!isStream || answer.body.includes('data: [DONE]'));
      if (isWhole) served[kind] += 1;
      else failures.push(`${kind} ${answer.status}: ${answer.body.slice(-300)}`);
      // Callers who think, so that the pods that start have something of the machine, too.
      await pause(20);
    }
  }
  const lanes = [...Array(4).keys()].map((index) => lane(index < 2 ? 'short' : 'streams'));
  return {
    ...{ served, failures },
    stop: async () => {
      over = true;
      await Promise.all(lanes);
    },
  };
}

/** What a cluster does with endpoints: it asks, and believes the last answer. */
function followReadiness(): () => Promise<void> {
  let over = false;
  const following = (async () => {
    while (!over) {
      const asked = await Promise.all(pods.map(async (pod) => ((await isReady(pod)) ? pod : undefined)));
      endpoints = asked.filter((pod) => pod !== undefined);
      await pause(200);
    }
  })();
  return async () => {
    over = true;
    await following;
  };
}

test('two pods are replaced, each by a new one that is ready first', { timeout: 300_000 }, async () => {
  const first = await startOne('weir-a');
  await weir(first, 'workspace', 'create', 'acme', '--credit', '25');
  ({ key = '' } = await weir(first, 'key', 'create', '--workspace', 'acme'));
  const second = await startOne('weir-b');
  endpoints = [first, second];
  const stopFollowing = followReadiness();
  const load = beginLoad();
  await expect.poll(() => load.served.streams).toBeGreaterThan(0);

  for (const [name, old] of [
    ['weir-c', first],
    ['weir-d', second],
  ] as const) {
    const fresh = await startOne(name);
    await expect.poll(() => endpoints.includes(fresh)).toBe(true);
    const { hooks, ends } = await old.terminate();
    expect(hooks).toEqual(['0 open request(s) are left.\n']);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const streams = load.served.streams;
    await expect.poll(() => load.served.streams).toBeGreaterThan(streams);
  }

  await load.stop();
  await stopFollowing();
  console.log(`${load.served.short} short answers and ${load.served.streams} streams`);
  expect(load.failures).toEqual([]);
  expect(load.served.short).toBeGreaterThan(100);
  // The new ones have taken over what the old ones told the cluster.
  const { stdout } = await kubectl(connection, ['get', 'leases', '-n', namespace, '-o', 'name']);
  expect(stdout.trim().split('\n').sort()).toEqual(
    ['weir-controller', 'weir-replica-weir-c', 'weir-replica-weir-d'].map(
      (name) => `lease.coordination.k8s.io/${name}`,
    ),
  );
  for (const pod of pods) await pod.remove();
});
