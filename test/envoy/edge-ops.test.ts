import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import { startEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { freePort } from '../support/free-port.ts';
import { runWeir } from '../support/run-weir.ts';
import { forFile } from '../support/for-file.ts';

const waiting: Exchange[] = [];

const opsPort = await freePort();
const envoy = await forFile(
  startEnvoy({
    edge: { address: '127.0.0.1', port: 0 },
    ops: { address: '127.0.0.1', port: opsPort },
  }),
);
await forFile(
  answerExtProc(envoy.files.extprocSocket, (exchange) => {
    if (exchange.head.method === 'POST') waiting.push(exchange);
    else exchange.reply(200, [], 'ok');
  }),
);

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function ask(port: number, path: string, method = 'GET'): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, method, agent: false, headers: { connection: 'keep-alive' } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(response);
  return { status: response.statusCode, headers: response.headers, body };
}

describe('the ops listener of Envoy', () => {
  it('answers probes, and Prometheus with the figures of the edge', async () => {
    // The word of the main thread's admin interface, not of the worker that took the request.
    expect(await ask(opsPort, '/livez')).toMatchObject({ status: 200, body: 'disabled' });
    expect(await ask(opsPort, '/readyz')).toMatchObject({ status: 200, body: 'LIVE\n' });
    await ask(envoy.port, '/healthz');
    expect((await ask(opsPort, '/metrics')).body).toContain('envoy_http_downstream_rq_total');
  });

  it.each([
    ['GET', '/'],
    ['GET', '/config_dump'],
    ['GET', '/metrics/../quitquitquit'],
    ['GET', '/metrics/'],
    ['POST', '/readyz'],
    ['POST', '/quitquitquit'],
    ['POST', '/healthcheck/fail'],
    ['POST', '/runtime_modify?weir.shed.percent=100'],
  ])('shows nothing else of the admin interface: %s %s is 404', async (method, path) => {
    expect(await ask(opsPort, path, method)).toMatchObject({ status: 404, body: '' });
  });
});

describe('weir envoy drain', () => {
  it('has the edge say that it is about to end, and waits for the requests that are open', async () => {
    const open = ask(envoy.port, '/v1/chat/completions', 'POST');
    await expect.poll(() => waiting.length).toBe(1);
    let isOver = false;
    const drain = runWeir(['envoy', 'drain', '--run', envoy.folder]).finally(() => {
      isOver = true;
    });
    await expect.poll(() => ask(opsPort, '/readyz')).toMatchObject({ status: 503 });
    expect(await ask(opsPort, '/livez')).toMatchObject({ status: 200 });
    // Who comes all the same is served, and told to come on another connection.
    expect(await ask(envoy.port, '/healthz')).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(isOver).toBe(false);
    waiting[0]?.reply(200, [], 'late');
    expect(await open).toMatchObject({ status: 200, body: 'late' });
    expect(await drain).toMatchObject({ code: 0, stdout: '0 open request(s) are left.\n' });
  });

  it('gives up after the time it was given, and says what is left', async () => {
    const open = ask(envoy.port, '/v1/chat/completions', 'POST');
    await expect.poll(() => waiting.length).toBe(2);
    const drain = await runWeir(['envoy', 'drain', '--seconds', '0', '--run', envoy.folder]);
    expect(drain).toMatchObject({ code: 0, stdout: '1 open request(s) are left.\n' });
    waiting[1]?.reply(200, [], 'late');
    await open;
  });

  it('is no fault where there is no Envoy', async () => {
    const drain = await runWeir(['envoy', 'drain', '--run', join(tmpdir(), 'no-envoy-here')]);
    expect(drain).toMatchObject({ code: 0, stdout: 'Envoy is away.\n' });
  });
});

describe('weir envoy bootstrap', () => {
  it('writes what Envoy starts with, from its flags and the settings', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-'));
    const flags = ['--port', '8443', '--ops-port', '9099', '--address', '::', '--memory', '536870912'];
    const { code, stdout } = await runWeir(['envoy', 'bootstrap', ...flags], {
      env: { WEIR_RUN: folder, WEIR_TRUSTED_HOPS: '2', WEIR_EDGE_HOST: '127.0.0.9' },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${folder}/bootstrap.json\n` });
    const bootstrap = await readFile(join(folder, 'bootstrap.json'), 'utf8');
    for (const part of ['"port_value": 8443', '"port_value": 9099', '"address": "::"', '"xff_num_trusted_hops": 2']) {
      expect(bootstrap).toContain(part);
    }
    expect(bootstrap).toContain(`"max_heap_size_bytes": ${Math.floor(536_870_912 * 0.8)}`);
    expect(await readFile(join(folder, 'clusters', 'clusters.json'), 'utf8')).toContain('"resources":[]');
    // Behind proxies nobody is held to the connections of one caller.
    expect(bootstrap).not.toContain('weir.connections');
    await rm(folder, { recursive: true });
  });

  it('takes address and limits from the settings, and puts what Envoy needs for them beside', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-'));
    const { code } = await runWeir(['envoy', 'bootstrap'], {
      env: {
        ...{ WEIR_RUN: folder, WEIR_EDGE_HOST: '127.0.0.9' },
        ...{ WEIR_CONNECTIONS_PER_ADDRESS: '77', WEIR_UNAUTHENTICATED_IDLE_SECONDS: '5' },
      },
    });
    expect(code).toBe(0);
    const bootstrap = await readFile(join(folder, 'bootstrap.json'), 'utf8');
    expect(bootstrap).toContain('"address": "127.0.0.9"');
    expect(bootstrap).toContain('connections 77 5');
    expect((await readFile(join(folder, 'connections.wasm'))).subarray(0, 4).toString('latin1')).toBe('\0asm');
    await rm(folder, { recursive: true });
  });

  it.each([
    [['--memory', '512Mi'], {}, "option '--memory <bytes>' argument '512Mi' is invalid. It must be a whole number"],
    [['--port', '0'], {}, "option '--port <n>' argument '0' is invalid"],
    [[], { WEIR_EDGE_HOST: 'all' }, 'WEIR_EDGE_HOST: expected an IP address'],
    [[], { WEIR_CONNECTIONS_PER_ADDRESS: '-1' }, 'WEIR_CONNECTIONS_PER_ADDRESS: expected a whole number'],
    [[], { WEIR_TRUSTED_HOPS: 'two' }, 'WEIR_TRUSTED_HOPS: expected a whole number from 0 to 99'],
    [[], { WEIR_TLS_KEY_FILE: '/nowhere' }, 'WEIR_TLS_CERTIFICATE_FILE: expected a PEM file'],
    [
      [],
      { WEIR_TLS_CERTIFICATE_FILE: '/etc/hostname', WEIR_TLS_KEY_FILE: '/etc/hostname' },
      'WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE: /etc/hostname and /etc/hostname do not match',
    ],
  ])('%j with %j is refused by name', async (flags, env, message) => {
    const run = join(tmpdir(), 'weir-never-written');
    const { code, stderr } = await runWeir(['envoy', 'bootstrap', '--run', run, ...flags], { env });
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
