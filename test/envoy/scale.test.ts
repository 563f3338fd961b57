/** How many endpoints a Backend needs, as KEDA reads it, from either of two gateways that share a Valkey. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { startValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

/** A Backend without endpoints, because its host has no address: as a Deployment with zero replicas. */
const withoutEndpoints = `apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: scaled-to-zero}
spec: {engine: vllm, endpoint: {host: engines.invalid, port: 8000, path: /v1}}
---
`;

const [engine, valkey] = await forFile(
  Promise.all([startProgrammableEngine({ name: 'one', behaviour: { reasoning: 'never', words: 5 } }), startValkey()]),
);
const start = () =>
  startWeir({
    engines: [engine],
    manifests: {
      'catalog.yaml':
        backendManifest('one-endpoint', engine) +
        withoutEndpoints +
        modelManifest('test/served', ['one-endpoint']) +
        modelManifest('test/none', ['scaled-to-zero']),
    },
    env: { WEIR_VALKEY_URL: valkey.url },
    unlimited: true,
  });
const first = await forFile(start());
const second = await forFile(start());

const chat = (weir: Weir, model: string, content: string): Promise<Response> =>
  weir.chat({ model, stream: true, max_tokens: 5, messages: [{ role: 'user', content }] });

const bodySchema = z.object({ needed_endpoints: z.number(), active: z.boolean(), reporting_replicas: z.number() });

async function read(weir: Weir, backend: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(new URL(`/scale/${backend}`, weir.opsUrl));
  return { status: response.status, body: await response.json() };
}
const needed = async (weir: Weir, backend: string): Promise<number> => {
  const { status, body } = await read(weir, backend);
  return status === 200 ? bodySchema.parse(body).needed_endpoints : Number.NaN;
};
const found = (body: object, replicas = { replicas: 2, reporting_replicas: 2 }) => ({
  ...{ status: 200, body: { ...body, ...replicas } },
});

test('a refused request at one gateway calls for an endpoint at both', async () => {
  const idle = found({ backend: 'scaled-to-zero', needed_endpoints: 0, active: false });
  for (const weir of [first, second]) await expect.poll(() => read(weir, 'scaled-to-zero')).toEqual(idle);
  const response = await chat(first, 'test/none', 'hello');
  expect(response.status).toBe(503);
  await response.text();
  expect(await read(first, 'scaled-to-zero')).toMatchObject({ status: 200, body: { active: true } });
  await expect.poll(() => needed(second, 'scaled-to-zero')).toBeGreaterThan(0);
  expect(await first.metric('weir_backend_refused_requests_total', { backend: 'scaled-to-zero' })).toBe(1);
  expect(await second.metric('weir_backend_refused_requests_total', { backend: 'scaled-to-zero' })).toBe(0);
  expect(await read(second, 'one-endpoint')).toMatchObject({ status: 200, body: { active: false } });
  expect(await read(second, 'none-such')).toMatchObject({ status: 404, body: { error: expect.any(String) } });
});

test('the work of both gateways adds up', async () => {
  // What each prompt takes is measured, and each is another one, so that no cache has it.
  engine.set({ firstTokenDelayMs: 2000 });
  const answers = Promise.all(
    [first, second].flatMap((weir, gateway) =>
      Array.from({ length: 8 }, (_, index) =>
        chat(weir, 'test/served', `${gateway} ${index} river stone `.repeat(2000)).then((response) => response.text()),
      ),
    ),
  );
  await engine.until(() => engine.openRequests() === 16);
  for (const weir of [first, second]) {
    await expect
      .poll(async () => {
        const own = await weir.metric('weir_backend_needed_endpoints', { backend: 'one-endpoint' });
        return own > 0 && (await needed(weir, 'one-endpoint')) > 1.5 * own;
      })
      .toBe(true);
  }
  await answers;
});

test('without Valkey a gateway answers for what it saw itself, and never zero', async () => {
  await valkey.kill();
  await expect.poll(() => read(second, 'scaled-to-zero')).toMatchObject({ status: 503 });
  const refused = await chat(second, 'test/none', 'hello');
  await refused.text();
  expect(await read(second, 'scaled-to-zero')).toEqual(
    found(
      { backend: 'scaled-to-zero', needed_endpoints: expect.any(Number), active: true },
      { replicas: 2, reporting_replicas: 1 },
    ),
  );
});
