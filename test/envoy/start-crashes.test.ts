// @suite alone
/** A part of a gateway is killed: its supervisor starts it again where it was. */
import { afterEach, expect, test } from 'vitest';
import { chat, removeStarts, start, type Started } from '../support/start.ts';

afterEach(removeStarts);

async function untilServed(gateway: Started): Promise<void> {
  const status = () =>
    chat(gateway, {}).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
  await expect.poll(status).toBe(200);
}

test('a service that is killed is started again, on the same ports and under the same Envoy', async () => {
  const gateway = await start([]);
  for (let round = 0; round < 2; round += 1) {
    const { Envoy, 'the service': service = 0 } = gateway.processes();
    process.kill(service, 'SIGKILL');
    await untilServed(gateway);
    await gateway.said(/The service was killed by SIGKILL; starting it again/);
    const after = gateway.processes();
    expect(after['the service']).not.toBe(service);
    expect(after['Envoy']).toBe(Envoy);
    expect((await fetch(new URL('/readyz', gateway.opsUrl))).status).toBe(200);
  }
});

test('an Envoy that is killed is started again on the same port', async () => {
  const gateway = await start([]);
  const { Envoy = 0 } = gateway.processes();
  process.kill(Envoy, 'SIGKILL');
  await gateway.said(/Envoy was killed by SIGKILL; starting it again/);
  await untilServed(gateway);
  expect(gateway.processes()['Envoy']).not.toBe(Envoy);
});

test('a demo engine that is killed is started again where the manifests say', async () => {
  const gateway = await start([]);
  process.kill(gateway.processes()['the demo engine'] ?? 0, 'SIGKILL');
  await gateway.said(/The demo engine was killed by SIGKILL; starting it again/);
  await untilServed(gateway);
});
