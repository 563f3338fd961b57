/** `weir scaler`, asked by a client of KEDA's own protocol file, from the module of KEDA that `keda/go.mod` pins. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { sampleDemand } from '../support/sample-demand.ts';
import { refOf, type ScalerClient, scalerClient } from '../support/scaler-client.ts';
import { type ScalerProcess, spawnScaler } from '../support/scaler-process.ts';

/** Downloads KEDA's module, whose sum is pinned, and returns its protocol file. Go keeps the module. */
function kedasProto(): string {
  const { stdout, stderr, error } = spawnSync('go', ['mod', 'download', '-json', 'github.com/kedacore/keda/v2'], {
    cwd: join(import.meta.dirname, 'keda'),
    encoding: 'utf8',
    env: { ...process.env, GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local', GOWORK: 'off' },
  });
  if (error !== undefined) throw new Error(`Go is needed for KEDA's protocol file: ${error.message}`);
  const { Dir: folder, Error: problem } = z
    .object({ Dir: z.string().optional(), Error: z.string().optional() })
    .parse(JSON.parse(stdout === '' ? JSON.stringify({ Error: stderr }) : stdout));
  if (folder === undefined) throw new Error(`KEDA's module could not be downloaded: ${problem ?? ''}`);
  return join(folder, 'pkg', 'scalers', 'externalscaler', 'externalscaler.proto');
}

let demand: Parameters<typeof sampleDemand>[0] = {};
let service: Server;
let scaler: ScalerProcess;
let client: ScalerClient;

beforeAll(async () => {
  service = createServer((_, response) => response.end(JSON.stringify({ backends: [sampleDemand(demand)] })));
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  scaler = await spawnScaler(['--services', `http://127.0.0.1:${(service.address() as AddressInfo).port}`]);
  client = scalerClient(scaler.port, { proto: kedasProto() });
}, 300_000);

afterAll(async () => {
  client.close();
  await scaler.close();
  service.closeAllConnections();
  service.close();
});

const ref = refOf({ backend: 'vllm-a', targetPercent: '50' });

it('answers each question', async () => {
  demand = { work_tokens: 12_300, quiet_ms: 0 };
  expect(await client.spec(ref)).toEqual([{ metricName: 'weir-vllm-a', targetSize: 50, targetSizeFloat: 50 }]);
  expect(await client.metrics(ref, 'weir-vllm-a')).toEqual([
    { metricName: 'weir-vllm-a', metricValue: 123, metricValueFloat: 123 },
  ]);
  expect(await client.isActive(ref)).toBe(true);
  expect(await client.wantedReplicas(ref)).toBe(3);
  const stream = client.stream(ref);
  await expect.poll(() => stream.said).toEqual([true]);
  demand = { quiet_ms: 60_000 };
  await expect.poll(() => stream.said).toEqual([true, false]);
  stream.cancel();
});

it('refuses metadata by the name of the field, with codes that KEDA logs', async () => {
  await expect(client.isActive(refOf({}))).rejects.toThrow('3: metadata.backend: expected the name of a Backend');
  await expect(client.spec(refOf({ backend: 'a', targetPercent: '0' }))).rejects.toThrow('3: metadata.targetPercent:');
  await expect(client.metrics(refOf({ backend: 'b' }), 'weir-b')).rejects.toThrow('5: metadata.backend:');
});
