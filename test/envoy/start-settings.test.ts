import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { newDataFolder, processesOf, removeStarts, runStart, start } from '../support/start.ts';
import { freePort } from '../support/free-port.ts';

const open: Server[] = [];

afterEach(async () => {
  await removeStarts();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

const isAlive = async (metricsUrl: string): Promise<boolean> => (await fetch(new URL('/livez', metricsUrl))).ok;

test('the ops port is the one that WEIR_OPS_PORT names, and variables of a Service are no hindrance', async () => {
  const port = await freePort();
  const gateway = await start([], {
    env: {
      WEIR_OPS_PORT: String(port),
      // As Kubernetes adds them to a container in a namespace with a Service "weir".
      WEIR_SERVICE_HOST: '10.96.0.7',
      WEIR_SERVICE_PORT: '8080',
      WEIR_PORT: 'tcp://10.96.0.7:8080',
      WEIR_PORT_8080_TCP: 'tcp://10.96.0.7:8080',
    },
  });
  expect(gateway.opsUrl).toBe(`http://127.0.0.1:${port}/metrics`);
  expect(await isAlive(gateway.opsUrl)).toBe(true);
});

test('an ops port that another program has is replaced by a free one, which is printed', async () => {
  const taken = createServer();
  open.push(taken);
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const gateway = await start([], { env: { WEIR_OPS_PORT: String(port) } });
  const found = new URL(gateway.opsUrl).port;
  expect(found).not.toBe(String(port));
  expect(gateway.stderr()).toContain(`Port ${port} is taken by another program; the ops port is ${found}.`);
  expect(await isAlive(gateway.opsUrl)).toBe(true);
});

test.each([
  [{ WEIR_IDLE_SECONDS: 'soon' }, 'weir: WEIR_IDLE_SECONDS: expected a whole number from 1 to 86400, got "soon".\n'],
  [{ WEIR_OPSPORT: '1' }, 'weir: WEIR_OPSPORT: there is no such setting (Did you mean WEIR_OPS_PORT?).\n'],
])('%j is refused with one line, before anything is started', async (env, line) => {
  const run = runStart([], { env });
  expect(await run.ended).toEqual({ code: 1, stdout: '', stderr: line });
  expect(processesOf(run.data)).toEqual({});
});

test('what the service gives up for is said once', async () => {
  const missing = join(newDataFolder(), 'search-key');
  const { code, stderr } = await runStart([], { env: { WEIR_WEB_SEARCH: `brave:${missing}` } }).ended;
  expect(code).toBe(1);
  expect(stderr.split(missing)).toHaveLength(2);
  expect(stderr).toMatch(/^weir: The service gave up: .*search-key/m);
  expect(stderr).not.toMatch(/SIGTERM|Its last lines/);
});
