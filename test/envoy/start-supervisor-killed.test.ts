/** A supervisor is killed, or what stands in its place: nothing of its gateway is left, at the latest after the next start. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { allGone, chat, removeStarts, start } from '../support/start.ts';

afterEach(removeStarts);

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
