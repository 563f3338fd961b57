// @suite waits
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { sendRaw } from './support/raw-http.ts';

let envoy: TestEnvoy;
afterEach(() => envoy.stop());

const chat = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';
const script = fileURLToPath(new URL('./support/extproc-process.ts', import.meta.url));

/** The service hangs with a request for so long, the caller leaves, and the service dies. */
async function hangLeaveAndDie(seconds: number): Promise<void> {
  const service = spawn(process.execPath, [script, envoy.files.extprocSocket, 'hang'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(service.stdout, 'data');
  const caller = connect(envoy.port, '127.0.0.1');
  caller.write(chat);
  await once(service.stdout, 'data');
  service.kill('SIGSTOP');
  await sleep(seconds * 1000); // Envoy drops what is idle by its own clock, and tells nobody.
  const closed = once(caller, 'close');
  caller.on('error', () => {}).destroy();
  await closed;
  await expect.poll(() => openStreams()).toBe(0);
  const gone = once(service, 'exit');
  service.kill('SIGKILL');
  await gone;
}

/** Requests of callers that Envoy serves; 0 where there is no Envoy any more. */
async function openStreams(): Promise<number> {
  const stats = await envoy.admin('/stats?filter=http.edge.downstream_rq_active').catch(() => '');
  return Number(/: (\d+)/.exec(stats)?.[1] ?? 0);
}

const idleOf = (duration: string) => (bootstrap: string) =>
  bootstrap.replace(/("max_cached_entry_idle_duration":)"[^"]+"/, `$1"${duration}"`);

it('Envoy outlives a service that hung for a minute and died', { timeout: 120_000 }, async () => {
  envoy = await startEnvoy({ concurrency: 1 });
  await hangLeaveAndDie(58);
  // Its only worker goes on: what would crash it has happened.
  expect((await sendRaw(envoy.port, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')).status).toBe(503);
  expect(await envoy.admin('/ready')).toBe('LIVE\n');
  expect(envoy.log()).not.toContain('Caught Segmentation fault');
});

it('Envoy crashes when it drops its gRPC clients while a request of theirs hangs', async () => {
  envoy = await startEnvoy({ concurrency: 1, change: idleOf('5s') });
  await hangLeaveAndDie(8);
  await expect.poll(() => envoy.log()).toContain('Caught Segmentation fault');
});
