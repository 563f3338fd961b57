import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DemoEngine, startDemoEngine } from '../../examples/demo-engine/engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

let engine: DemoEngine;
let weir: Weir;
/** What the engine answers to its health check. */
let health = 200;
const door = createServer((_, response) => response.writeHead(health).end());

beforeAll(async () => {
  engine = await startDemoEngine({ name: 'alpha', behaviour: { reasoning: 'never' } });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  const { port } = door.address() as AddressInfo;
  const check = ', healthCheck: {path: /health, intervalSeconds: 1}}';
  weir = await startWeir({
    engines: [engine],
    manifests: {
      'catalog.yaml': [
        backendManifest('checked', { port }).replace('path: /v1}}', `path: /v1}${check}`),
        backendManifest('plain', engine),
        ...[modelManifest('test/checked', ['checked']), modelManifest('test/both', ['checked', 'plain'])],
      ].join(''),
    },
  });
});
afterAll(async () => {
  await weir.close();
  await engine.close();
  door.closeAllConnections();
  await new Promise((resolve) => door.close(resolve));
});

/** What callers and operators see of the two models. */
async function seen() {
  const { data } = (await (await weir.fetch(`${weir.baseUrl}/models`)).json()) as {
    readonly data: readonly { id: string }[];
  };
  const [serving, listed] = await Promise.all([
    weir.metric('weir_route_serving', { model: 'test/checked' }),
    weir.metric('weir_model_listed', { model: 'test/checked' }),
  ]);
  return { ids: data.map(({ id }) => id), serving, listed };
}
const within = { interval: 200, timeout: 30_000 };

test('a model whose only backend fails its health check leaves the list and the gauges, and comes back with the check', async () => {
  const whole = { ids: ['test/both', 'test/checked'], serving: 1, listed: 1 };
  const without = { ids: ['test/both'], serving: 0, listed: 0 };
  await expect.poll(seen, within).toEqual(whole);
  health = 401;
  await expect.poll(seen, within).toEqual(without);
  // Nothing is asked meanwhile, and time alone does not list it again.
  health = 200;
  await expect.poll(seen, within).toEqual(whole);
});
