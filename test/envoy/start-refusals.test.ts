import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { newDataFolder, processesOf, removeStarts, runStart, start } from '../support/start.ts';

const open: Server[] = [];

afterEach(async () => {
  await removeStarts();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** Ends with code 1 (or 2) and a sentence, and no process of ours runs or ran. */
async function refusal(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const run = runStart(args, { env });
  const { code, stderr, stdout } = await run.ended;
  expect(stdout).toBe('');
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(processesOf(run.data)).toEqual({});
  return { code, stderr };
}

async function listening(server: Server, host?: string): Promise<number> {
  open.push(server);
  server.listen({ port: 0, host });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function upstream(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createHttpServer(answer), '127.0.0.1')}`;
}

test.each([['127.0.0.1'], ['0.0.0.0']])('a port that is taken on %s is named, with the ways out', async (host) => {
  const port = await listening(createServer(), host);
  const { code, stderr } = await refusal(['--port', String(port)]);
  expect(code).toBe(1);
  expect(stderr).toContain(`Port ${port} is taken`);
  expect(stderr).toContain('--port');
});

test('of two starts on one port at the same moment exactly one serves', async () => {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  open.length = 0;
  const runs = [runStart(['--port', String(port)]), runStart(['--port', String(port)])];
  const results = await Promise.all(
    runs.map((run) => Promise.race([run.said(/^ready /m).then(() => 'ready'), run.ended.then(({ stderr }) => stderr)])),
  );
  expect(results.filter((result) => result === 'ready')).toHaveLength(1);
  expect(results.find((result) => result !== 'ready')).toContain(`Port ${port} is taken`);
});

test('a port that Weir itself uses is taken, too', async () => {
  const first = await start([]);
  const { port } = new URL(first.baseUrl);
  expect((await refusal(['--port', port])).stderr).toContain(`Port ${port} is taken`);
});

test('a manifest folder that is not there is named', async () => {
  const missing = join(newDataFolder(), 'missing');
  const { code, stderr } = await refusal(['--manifests', missing]);
  expect(code).toBe(1);
  expect(stderr).toContain(missing);
});

test('a broken manifest is named by file and field', async () => {
  const folder = join(newDataFolder(), 'manifests');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'engine.yaml'),
    'apiVersion: weir.dev/v1alpha1\nkind: Backend\nmetadata: {name: a}\nspec:\n  engine: nope\n  endpoint: {host: h, port: 1}\n',
  );
  writeFileSync(join(folder, 'torn.yaml'), 'kind: [\n');
  const { code, stderr } = await refusal(['--manifests', folder]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/engine\.yaml\S*: spec\.engine: expected one of/);
  expect(stderr).toMatch(/torn\.yaml\S*: /);
});

test('an upstream that nobody serves is named with the reason', async () => {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  open.length = 0;
  const { code, stderr } = await refusal(['--upstream', `http://127.0.0.1:${port}/v1`]);
  expect(code).toBe(1);
  expect(stderr).toContain(`http://127.0.0.1:${port}/v1/models cannot be reached: connect ECONNREFUSED`);
});

test('an upstream that wants a key says so, and one that refuses it does not get it printed', async () => {
  const url = await upstream((_request, response) => response.writeHead(401).end());
  expect((await refusal(['--upstream', url])).stderr).toMatch(/asks for a key.*401/);
  const { code, stderr } = await refusal(['--upstream', url, '--upstream-key', 'sk-secret-1']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/refuses the key.*401/);
  expect(stderr).not.toContain('sk-secret-1');
});

test.each([
  ['a page', (_request, response) => response.end('<html>'), /does not answer with JSON/],
  ['another JSON', (_request, response) => response.end('{"ok":true}'), /not a model list/],
  ['404', (_request, response) => response.writeHead(404).end(), /status 404/],
  ['no model', (_request, response) => response.end('{"object":"list","data":[]}'), /lists no model/],
  [
    'a move',
    (_request, response) => response.writeHead(301, { location: 'https://x/' }).end(),
    /moved to https:\/\/x\//,
  ],
] satisfies [string, RequestListener, RegExp][])(
  'an upstream that answers with %s is no engine',
  async (_name, answer, words) => {
    const { code, stderr } = await refusal(['--upstream', await upstream(answer)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(words);
  },
);

test('a mistake on the command line is a sentence and code 2', async () => {
  const { code, stderr } = await refusal(['--nonsense']);
  expect(code).toBe(2);
  expect(stderr).toContain("Unknown option '--nonsense'");
});

test('an ENVOY_PATH that is no Envoy is refused by name', async () => {
  const { code, stderr } = await refusal([], { ENVOY_PATH: '/bin/true' });
  expect(code).toBe(1);
  expect(stderr).toContain('ENVOY_PATH is /bin/true');
});

test('an Envoy that cannot start shows the last lines of its log', async () => {
  const folder = newDataFolder();
  const fake = join(folder, 'envoy');
  const version = 'echo "envoy  version: x/1.40.0/Clean/RELEASE/BoringSSL"';
  writeFileSync(fake, `#!/bin/sh\n[ "$1" = --version ] && ${version} && exit 0\necho "no such luck" >&2\nexit 3\n`, {
    mode: 0o755,
  });
  const { code, stderr } = await refusal([], { ENVOY_PATH: fake });
  expect(code).toBe(1);
  expect(stderr).toContain('Envoy ended with code 3');
  expect(stderr).toContain('no such luck');
});

test('a data folder that cannot be made is named', async () => {
  const file = join(newDataFolder(), 'file');
  writeFileSync(file, '');
  const { code, stderr } = await runStart([], { data: file }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The data folder ${file} cannot be used`);
});

test.each([
  ['localhost', 'WEIR_EDGE_HOST: expected an IP address'],
  ['203.0.113.1', 'WEIR_EDGE_HOST: this machine has no address 203.0.113.1'],
])('an edge on %s is refused by the name of its setting', async (host, message) => {
  const { code, stderr } = await refusal([], { WEIR_EDGE_HOST: host });
  expect(code).toBe(1);
  expect(stderr).toContain(message);
});
