/** The readiness of the pods behind a Service flaps under load: no request fails, no stream is cut, and no pod gets more than it takes. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { canary, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';
import { makeService, podAddress, type TestService } from './support/service.ts';

const connection = inject('kubernetes');
const capacity = 4;
const names = ['steady', 'flapping-0', 'flapping-1', 'flapping-2'] as const;
const engines: ProgrammableEngine[] = [];
let service: TestService;
let weir: Weir;

const backend = `apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: pods}
spec:
  engine: vllm
  service: {name: pods, port: http}
  healthCheck: {path: /health}
  capacity: {maxConcurrentRequestsPerEndpoint: ${capacity}}
---
`;

beforeAll(async () => {
  if (podAddress === undefined) return;
  const namespace = await makeNamespace(connection);
  service = await makeService(connection, namespace, 'pods');
  for (const name of names) {
    const engine = await startProgrammableEngine({ name, host: podAddress, behaviour: { reasoning: 'never' } });
    engines.push(engine);
    await service.pod(name, engine, 'ready');
  }
  const models = ['test/often', 'test/seldom'].map((id) => modelManifest(id, ['pods'], '  hedging: {mode: Disabled}'));
  const applied = await kubectl(connection, ['apply', '-n', namespace, '-f', '-'], backend + models.join(''));
  if (applied.code !== 0) throw new Error(JSON.stringify(applied));
  const env = { KUBECONFIG: connection.kubeconfig };
  weir = await startWeir({ flags: ['--kubernetes', '--namespace', namespace], env, unlimited: true });
});
afterAll(async () => {
  await weir?.close();
  for (const engine of engines) await engine.close();
});

let asked = 0;
/** Asks, and reads the answer to its end. Resolves to what is wrong with it; empty when it is whole. */
async function chat(model: string, directives: object): Promise<string> {
  asked += 1;
  const content = `Question ${asked}: ${canary} [[demo ${JSON.stringify(directives)}]]`;
  const answer = await weir.chat({ model, stream: true, messages: [{ role: 'user', content }] });
  const body = await answer.text();
  const isWhole = answer.status === 200 && body.includes('"finish_reason":"stop"');
  return isWhole ? '' : `${answer.status}: ${body.slice(-300)}`;
}

/** Requests of both models, one after the other in each lane, until it is stopped. */
function beginLoad() {
  const failures: string[] = [];
  let served = 0;
  let over = false;
  async function lane(model: string, directives: object, pauseMs: number): Promise<void> {
    while (!over) {
      const failure = await chat(model, directives).catch(String);
      if (failure === '') served += 1;
      else failures.push(failure);
      await pause(pauseMs);
    }
  }
  const stream = { words: 40, tokenDelayMs: 25 };
  // As many at once as the pod takes that does not flap.
  const lanes = [
    lane('test/often', { words: 3 }, 10),
    ...Array.from({ length: capacity - 2 }, () => lane('test/often', stream, 10)),
    lane('test/seldom', stream, 400),
  ];
  return {
    served: () => served,
    failures,
    stop: async () => {
      over = true;
      await Promise.all(lanes);
    },
  };
}

/** The most requests that a pod had at once, looked at every few milliseconds until it is stopped. */
function watchLoads() {
  const most = engines.map(() => 0);
  const look = setInterval(() => {
    for (const [index, engine] of engines.entries()) most[index] = Math.max(most[index] ?? 0, engine.openRequests());
  }, 2);
  return () => {
    clearInterval(look);
    return most;
  };
}

test.skipIf(podAddress === undefined)(
  'ten changes a second, in which pods come, go, end and lose their slice: nothing fails',
  { timeout: 120_000 },
  async () => {
    const load = beginLoad();
    const loads = watchLoads();
    await expect.poll(load.served).toBeGreaterThan(20);
    const states = ['starting', 'ready', 'terminating', 'ready'] as const;
    let changes = 0;
    for (const begun = performance.now(); performance.now() - begun < 12_000; changes += 1) {
      const index = 1 + (changes % (names.length - 1));
      const name = names[index] ?? '';
      const engine = engines[index];
      const state = states[Math.floor(changes / (names.length - 1)) % states.length] ?? 'ready';
      if (engine === undefined) continue;
      if (changes % 17 === 0) await service.gone(name).catch(() => undefined);
      await service.pod(name, engine, state);
      await pause(90);
    }
    for (const [index, name] of names.entries()) {
      const engine = engines[index];
      if (engine !== undefined) await service.pod(name, engine, 'ready');
    }
    await load.stop();
    const most = loads();
    console.log(`${changes} changes, ${load.served()} answers, at most ${most.join(', ')} requests at once on a pod`);
    expect(load.failures).toEqual([]);
    expect(Math.max(...most)).toBeLessThanOrEqual(capacity);
    await expect.poll(() => weir.metric('weir_endpoints', { backend: 'pods', state: 'healthy' })).toBe(names.length);
    expect(await weir.metric('weir_attempts_total', { reason: 'resume' })).toBe(0);
    expect(await weir.metric('weir_attempt_faults_total')).toBe(0);
  },
);

test.skipIf(podAddress === undefined)(
  'while no pod is ready requests are refused at once and streams go on, and a pod that is ready is used',
  async () => {
    const whole = (): Promise<string> => chat('test/often', { words: 3 });
    const all = (state: 'ready' | 'starting'): Promise<unknown> =>
      Promise.all(engines.map((engine, index) => service.pod(names[index] ?? '', engine, state)));
    for (let round = 0; round < 3; round += 1) {
      const streams = [1, 2, 3].map(() => chat('test/seldom', { words: 60, tokenDelayMs: 40 }));
      const open = (): number => engines.reduce((sum, engine) => sum + engine.openRequests(), 0);
      await expect.poll(open).toBe(streams.length);
      await all('starting');
      await expect.poll(whole).toMatch(/^503: .*No capacity/);
      await all('ready');
      await expect.poll(whole).toBe('');
      expect(await Promise.all(streams)).toEqual(['', '', '']);
    }
  },
);

test.skipIf(podAddress === undefined)(
  'pods that end with open streams take no room of the pod that stays',
  async () => {
    const [staying] = engines;
    if (staying === undefined) throw new Error('there is no pod that stays');
    const ready = () => weir.metric('weir_endpoints', { backend: 'pods' });
    const open = (): readonly number[] => engines.map((engine) => engine.openRequests());
    // The others have more streams than the pod that stays takes, and it has none.
    await service.pod(names[0], staying, 'starting');
    await expect.poll(ready).toBe(names.length - 1);
    const streams = Array.from({ length: capacity + 2 }, () => chat('test/seldom', { words: 200, tokenDelayMs: 40 }));
    await expect.poll(() => open().reduce((sum, count) => sum + count, 0)).toBe(streams.length);
    await service.pod(names[0], staying, 'ready');
    await expect.poll(ready).toBe(names.length);
    await Promise.all(
      engines.map((engine, index) => service.pod(names[index] ?? '', engine, index === 0 ? 'ready' : 'terminating')),
    );
    await expect.poll(ready).toBe(1);
    for (let time = 0; time < 5; time += 1) expect(await chat('test/often', { words: 3 })).toBe('');
    expect(
      open()
        .slice(1)
        .some((count) => count > 0),
    ).toBe(true);
    expect(await Promise.all(streams)).toEqual(streams.map(() => ''));
  },
);
