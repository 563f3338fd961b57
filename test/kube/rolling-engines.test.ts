// @suite long
/** The engines behind a Service come, go and are all replaced under load: no request fails and no stream is cut. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { canary, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';
import { makeService, podAddress, type TestService } from './support/service.ts';
import { untilHolds } from '../support/until-holds.ts';

const connection = inject('kubernetes');
const engines = new Map<string, ProgrammableEngine>();
let service: TestService;
let weir: Weir;

const backend = `apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: pods}
spec: {engine: vllm, service: {name: pods, port: http}, healthCheck: {path: /health}}
---
`;

const engineOf = (name: string): ProgrammableEngine => {
  const engine = engines.get(name);
  if (engine === undefined) throw new Error(`no engine ${name}`);
  return engine;
};

/** Starts a pod, and says that it is ready. */
async function startPod(name: string): Promise<ProgrammableEngine> {
  const engine = await startProgrammableEngine({ name, host: podAddress ?? '', behaviour: { reasoning: 'never' } });
  engines.set(name, engine);
  await service.pod(name, engine, 'ready');
  return engine;
}

/** Ends a pod as Kubernetes does: it takes nothing new, finishes what it has, and is gone. Resolves to what it took all the same. */
async function endPod(name: string): Promise<number> {
  const engine = engineOf(name);
  await service.pod(name, engine, 'terminating');
  // What was on its way when the API server said so has come once the others got many requests and this pod none.
  const all = (): number => [...engines.values()].reduce((sum, each) => sum + each.requests().length, 0);
  let before = -1;
  while (before !== engine.requests().length) {
    before = engine.requests().length;
    const others = all() - before;
    await untilHolds(() => expect(all() - engine.requests().length).toBeGreaterThan(others + 50));
  }
  await engine.until(() => engine.openRequests() === 0);
  const lateRequests = engine.requests().length - before;
  await engine.close();
  await service.gone(name);
  return lateRequests;
}

/** Milliseconds from the word of the API server to the first request on a new pod. */
async function usedAfter(name: string): Promise<number> {
  const engine = await startPod(name);
  const begun = performance.now();
  await engine.until(() => engine.requests().length > 0);
  return performance.now() - begun;
}

beforeAll(async () => {
  if (podAddress === undefined) return;
  const namespace = await makeNamespace(connection);
  service = await makeService(connection, namespace, 'pods');
  for (const name of ['old-0', 'old-1', 'old-2']) await startPod(name);
  const text = backend + modelManifest('test/model', ['pods'], '  hedging: {mode: Disabled}');
  const applied = await kubectl(connection, ['apply', '-n', namespace, '-f', '-'], text);
  if (applied.code !== 0) throw new Error(JSON.stringify(applied));
  const env = { KUBECONFIG: connection.kubeconfig };
  weir = await startWeir({ flags: ['--kubernetes', '--namespace', namespace], env, unlimited: true });
});
afterAll(async () => {
  await weir?.close();
  for (const engine of engines.values()) await engine.close();
});

let asked = 0;
/** Asks a question of its own. Resolves when the answer has begun. */
function ask(directives: object, stream: boolean): Promise<Response> {
  asked += 1;
  const content = `Question ${asked}: ${canary} [[demo ${JSON.stringify(directives)}]]`;
  return weir.chat({ model: 'test/model', stream, messages: [{ role: 'user', content }] });
}

/** Asks, and reads the answer to its end. Resolves to what is wrong with it; empty when it is whole. */
async function chat(directives: object, stream: boolean): Promise<string> {
  return faultIn(await ask(directives, stream), stream);
}

async function faultIn(answer: Response, stream: boolean): Promise<string> {
  const body = await answer.text();
  const isWhole = answer.status === 200 && (!stream || body.includes('"finish_reason":"stop"'));
  return isWhole ? '' : `${answer.status}: ${body.slice(-300)}`;
}

interface Load {
  readonly served: { short: number; streams: number; long: number };
  readonly failures: string[];
  readonly stop: () => Promise<void>;
}

const kinds = { short: { words: 3 }, streams: { words: 60, tokenDelayMs: 40 } } as const;

/** Short answers and streams of some seconds, over and over, and beside them streams of half a minute. */
function beginLoad(): Load {
  const served = { short: 0, streams: 0, long: 0 };
  const failures: string[] = [];
  let over = false;
  const count = (kind: keyof typeof served, failure: string): void => {
    if (failure === '') served[kind] += 1;
    else failures.push(`${kind} ${failure}`);
  };
  async function lane(kind: keyof typeof kinds): Promise<void> {
    while (!over) {
      count(kind, await chat(kinds[kind], kind === 'streams').catch(String));
      await pause(10);
    }
  }
  const lanes = Array.from({ length: 12 }, (_, index) => lane(index < 6 ? 'short' : 'streams'));
  const long = Array.from({ length: 6 }, async () =>
    count('long', await chat({ words: 420, tokenDelayMs: 50 }, true).catch(String)),
  );
  return {
    ...{ served, failures },
    stop: async () => {
      over = true;
      await Promise.all([...lanes, ...long]);
    },
  };
}

test.skipIf(podAddress === undefined)(
  'one more pod, the end of one, and a replacement of all: nothing fails, nothing is cut, a new one is used',
  { timeout: 180_000 },
  async () => {
    const load = beginLoad();
    await expect.poll(() => load.served.short).toBeGreaterThan(20);

    const used = [await usedAfter('more')];
    const ends = [];
    for (const index of [0, 1, 2]) {
      used.push(await usedAfter(`new-${index}`));
      ends.push(endPod(`old-${index}`));
      const fresh = engineOf(`new-${index}`);
      await fresh.until(() => fresh.requests().length > 50);
    }
    ends.push(endPod('more'));
    const late = await Promise.all(ends);
    await load.stop();

    const { short, streams, long } = load.served;
    const waits = used.map((ms) => `${Math.round(ms)} ms`).join(', ');
    console.log(
      `${short} short answers, ${streams} streams, ${long} of half a minute; new pods were used after ${waits}`,
    );
    expect(load.failures).toEqual([]);
    expect(long).toBe(6);
    // Not even unseen: nothing had to be tried again or continued elsewhere.
    expect(await weir.metric('weir_attempt_faults_total')).toBe(0);
    expect(await weir.metric('weir_attempts_total')).toBe(
      await weir.metric('weir_attempts_total', { reason: 'first' }),
    );
    expect(late).toEqual([0, 0, 0, 0]);
    expect(await weir.metric('weir_endpoints', { backend: 'pods', state: 'healthy' })).toBe(3);
  },
);

test.skipIf(podAddress === undefined)(
  'a pod that dies without a word cuts its streams, which go on elsewhere: what the test above would have seen',
  async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(kinds.streams, true)));
    const pods = ['new-0', 'new-1', 'new-2'].map(engineOf);
    await pods.find((pod) => pod.openRequests() > 0)?.close();
    expect(await Promise.all(answers.map((answer) => faultIn(answer, true)))).toEqual(answers.map(() => ''));
    expect(await weir.metric('weir_attempts_total', { reason: 'resume' })).toBeGreaterThan(0);
  },
);
