/** `weir picker --pool` on a real API server, asked as a gateway asks it. */
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processMethod } from '../support/picker-codec.ts';
import { type PickerProcess, spawnPicker } from '../support/picker-process.ts';
import { startKubeApiServer } from './support/api-server.ts';
import { makeNamespace } from './support/cluster.ts';
import { installPoolCrd, poolsIn, type TestPools } from './support/inference-pool.ts';
import { forFile } from '../support/for-file.ts';

const Process = processMethod<{
  readonly immediate_response?: { readonly status: { readonly code: number }; readonly body: Buffer };
  readonly dynamic_metadata?: {
    readonly fields: {
      readonly 'envoy.lb': { readonly struct_value: { readonly fields: Record<string, { string_value: string }> } };
    };
  };
}>();

let namespace: string;
let pools: TestPools;
let picker: PickerProcess;
let client: Client;

const server = await forFile(startKubeApiServer());
await installPoolCrd(server);
beforeEach(async () => {
  namespace = await makeNamespace(server);
  pools = poolsIn(server, namespace);
  picker = await spawnPicker(['--pool', `${namespace}/qwen`], { KUBECONFIG: server.kubeconfig });
  client = new Client(`127.0.0.1:${picker.port}`, credentials.createInsecure());
});
afterEach(async () => {
  client.close();
  await picker.close();
});

/** The picked endpoint, or the status and the message of a refusal. */
function ask(): Promise<string> {
  const stream = client.makeBidiStreamRequest(Process.path, Process.requestSerialize, Process.responseDeserialize);
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.on('data', ({ immediate_response: refusal, dynamic_metadata: metadata }) => {
      const fields = metadata?.fields['envoy.lb'].struct_value.fields;
      resolve(
        refusal === undefined
          ? (fields?.['x-gateway-destination-endpoint']?.string_value ?? 'nothing')
          : `${refusal.status.code} ${String(refusal.body)}`,
      );
      stream.end();
    });
    stream.write({ request_headers: { headers: { headers: [] }, end_of_stream: true } });
  });
}

const polling = { interval: 100 };
const labels = { app: 'qwen' };

test('the ready pods of a pool are picked from, one for each target port, and without one there is 503', async () => {
  const none = JSON.stringify({
    error: { message: `Pool ${namespace}/qwen has no ready endpoint.`, type: 'server_error' },
  });
  // The pool does not exist, and the picker is ready to say so.
  expect(await ask()).toBe(`503 ${none}`);
  await pools.pool('qwen', labels, { targetPorts: [{ number: 8000 }, { number: 8001 }] });
  await pools.pod('other-0', { address: '10.0.0.9', labels: { app: 'other' }, isReady: true });
  await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: false });
  expect(await ask()).toBe(`503 ${none}`);

  await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
  await expect
    .poll(async () => (await picker.metrics()).match(/^weir_picker_endpoints (\d+)$/m)?.[1], polling)
    .toBe('2');
  const found = new Set<string>();
  for (let count = 0; count < 40; count += 1) found.add(await ask());
  expect([...found].toSorted()).toEqual(['10.0.0.1:8000', '10.0.0.1:8001']);

  await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: false });
  await expect.poll(ask, polling).toBe(`503 ${none}`);
});
