import { afterEach, expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { allGone, chat, removeStarts, start, type Started } from '../support/start.ts';

afterEach(removeStarts);

/** Milliseconds until a question is answered again. */
async function servingAgain(gateway: Started, timeoutMs: number): Promise<number> {
  const from = performance.now();
  for (;;) {
    const status = await chat(gateway, {}).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return performance.now() - from;
    if (performance.now() - from > timeoutMs) throw new Error(`still ${status}: ${gateway.stderr()}`);
  }
}

test('a service that is killed is back within three seconds, on the same ports and under the same Envoy', async () => {
  const gateway = await start([]);
  for (let round = 0; round < 2; round += 1) {
    const { Envoy, 'the service': service = 0 } = gateway.processes();
    process.kill(service, 'SIGKILL');
    expect(await servingAgain(gateway, 20_000)).toBeLessThan(3_000);
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
  await servingAgain(gateway, 20_000);
  expect(gateway.processes()['Envoy']).not.toBe(Envoy);
});

test('a demo engine that is killed is started again where the manifests say', async () => {
  const gateway = await start([]);
  process.kill(gateway.processes()['the demo engine'] ?? 0, 'SIGKILL');
  await gateway.said(/The demo engine was killed by SIGKILL; starting it again/);
  expect(await servingAgain(gateway, 20_000)).toBeLessThan(10_000);
});

test('a supervisor that is killed leaves no process, and the next start on its folder serves', async () => {
  const gateway = await start([]);
  const pids = gateway.processes();
  await gateway.stop('SIGKILL');
  await allGone(pids);
  expect(existsSync(join(gateway.data, 'run', 'admin.sock'))).toBe(true);
  const next = await start([], { data: gateway.data });
  expect(next.key).toBe(gateway.key);
  expect((await chat(next, {})).status).toBe(200);
});

test('what a killed supervisor could not take along is ended by the next start', async () => {
  const gateway = await start(['--no-demo']);
  const { Envoy = 0, 'the service': service = 0 } = gateway.processes();
  // A stopped service does not notice that its supervisor has died.
  process.kill(service, 'SIGSTOP');
  await gateway.stop('SIGKILL');
  await allGone({ Envoy });
  const next = await start(['--no-demo'], { data: gateway.data });
  expect(next.stderr()).toContain(`Ending the service (pid ${service}), left over`);
  await allGone({ service }, 0);
});

/** A Node before 22.15 cannot replace itself: the wrapper then stays as the parent, and is what a harness knows. */
const staysBehind = { NODE_OPTIONS: '--import=data:text/javascript,process.execve=undefined' };

test('a wrapper that stays behind hands on signals and the exit code', async () => {
  const gateway = await start([], { env: staysBehind });
  const pids = gateway.processes();
  expect(pids['weir start']).not.toBe(gateway.child.pid);
  expect((await gateway.stop('SIGINT')).code).toBe(0);
  await allGone(pids, 0);
});

test('a wrapper that is killed takes everything along', async () => {
  const gateway = await start([], { env: staysBehind });
  const pids = gateway.processes();
  expect((await gateway.stop('SIGKILL')).code).toBe('SIGKILL');
  await allGone(pids);
});
