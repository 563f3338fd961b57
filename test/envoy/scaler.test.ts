/** `weir scaler` in front of a running gateway, asked as KEDA asks. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { refOf, type ScalerClient, scalerClient } from '../support/scaler-client.ts';
import { type ScalerProcess, spawnScaler } from '../support/scaler-process.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

let engine: ProgrammableEngine;
let weir: Weir;
let scaler: ScalerProcess;
let client: ScalerClient;

/** A Backend without endpoints, because its host has no address: as a Deployment with zero replicas. */
const withoutEndpoints = `apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: scaled-to-zero}
spec: {engine: vllm, endpoint: {host: engines.invalid, port: 8000, path: /v1}}
---
`;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'one', behaviour: { reasoning: 'never', words: 5 } });
  weir = await startWeir({
    engines: [engine],
    manifests: {
      'catalog.yaml':
        backendManifest('one-endpoint', engine) +
        withoutEndpoints +
        modelManifest('test/served', ['one-endpoint']) +
        modelManifest('test/none', ['scaled-to-zero']),
    },
    unlimited: true,
  });
  scaler = await spawnScaler(['--services', new URL(weir.opsUrl).origin]);
  client = scalerClient(scaler.port);
});
afterAll(async () => {
  client.close();
  await scaler.close();
  await weir.close();
  await engine.close();
});

const chat = (model: string, content: string): Promise<Response> =>
  weir.chat({ model, stream: true, max_tokens: 5, messages: [{ role: 'user', content }] });

test('a refused request makes a Backend without endpoints active, and calls for one', async () => {
  const ref = refOf({ backend: 'scaled-to-zero' });
  expect(await client.isActive(ref)).toBe(false);
  expect(await client.wantedReplicas(ref)).toBe(0);
  const stream = client.stream(ref);
  await expect.poll(() => stream.said).toEqual([false]);
  const response = await chat('test/none', 'hello');
  expect(response.status).toBe(503);
  await response.text();
  await expect.poll(() => stream.said).toEqual([false, true]);
  stream.cancel();
  expect(await client.wantedReplicas(ref)).toBe(1);
  expect(await weir.metric('weir_backend_refused_requests_total', { backend: 'scaled-to-zero' })).toBe(1);
  expect(await client.isActive(refOf({ backend: 'one-endpoint' }))).toBe(false);
});

test('requests to one endpoint call for more when they are more than it computes within the objective', async () => {
  const ref = refOf({ backend: 'one-endpoint' });
  // What each prompt takes is measured, and each is another one, so that no cache has it.
  engine.set({ firstTokenDelayMs: 200 });
  const send = async (index: number): Promise<void> => {
    const response = await chat('test/served', `${index} river stone `.repeat(2000));
    expect(await response.text()).toContain('[DONE]');
  };
  for (let index = 0; index < 5; index += 1) await send(index);
  expect(await client.isActive(ref)).toBe(true);
  const few = await client.wantedReplicas(ref);
  const work = await weir.metric('weir_backend_work_tokens', { backend: 'one-endpoint' });
  const capacity = await weir.metric('weir_backend_capacity_tokens', { backend: 'one-endpoint' });
  expect(few).toBe(Math.max(1, Math.ceil(Math.round((work / capacity) * 100) / 70)));
  expect(await weir.metric('weir_backend_first_token_wait_seconds', { backend: 'one-endpoint' })).toBeGreaterThan(0.1);
  engine.set({ firstTokenDelayMs: 2000 });
  const answers = Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      chat('test/served', `${index + 100} river stone `.repeat(2000)).then((response) => response.text()),
    ),
  );
  await engine.until(() => engine.openRequests() === 24);
  await expect.poll(() => client.wantedReplicas(ref)).toBeGreaterThan(few);
  await answers;
});

test('a gateway that does not answer is an error, and no zero', async () => {
  const alone = await spawnScaler(['--services', 'http://127.0.0.1:1']);
  const asking = scalerClient(alone.port);
  await expect(asking.isActive(refOf({ backend: 'one-endpoint' }))).rejects.toThrow(/^14: no service .* answers/);
  expect(await alone.metrics()).toMatch(/^weir_scaler_services\{answers="no"\} 1$/m);
  asking.close();
  await alone.close();
});
