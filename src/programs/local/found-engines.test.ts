import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type EngineSearch, searchEngines, serveCommands, usualEngines } from './found-engines.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function listen(server: Server | TcpServer, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  closers.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  server.once('error', reject).listen(0, host, () => resolve((server.address() as AddressInfo).port));
  return promise;
}

const serve = (listener: RequestListener, host = '127.0.0.1'): Promise<number> => listen(createServer(listener), host);

/** Answers one path, as JSON. */
const answering =
  (path: string, json: unknown): RequestListener =>
  (request, response) => {
    response.statusCode = request.url === path ? 200 : 404;
    response.end(JSON.stringify(request.url === path ? json : { error: 'not found' }));
  };

/** Looks for all engines at one port. */
function search(port: number, ownPort = 0): EngineSearch {
  const started = searchEngines(
    usualEngines.map((engine) => ({ ...engine, port })),
    ownPort,
  );
  closers.push(started.end);
  return started;
}

const digest = 'a'.repeat(64);
const answers: Readonly<Record<string, readonly [path: string, json: unknown]>> = {
  Ollama: ['/api/tags', { models: [{ name: 'llama3.2:1b', model: 'llama3.2:1b', size: 1, digest, details: {} }] }],
  'llama-server': ['/props', { default_generation_settings: { n_ctx: 4096 }, total_slots: 4, model_path: '/m/x.gguf' }],
  vLLM: ['/v1/models', { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', owned_by: 'vllm', max_model_len: 40_960 }] }],
  SGLang: ['/v1/models', { object: 'list', data: [{ id: 'a/b', owned_by: 'sglang', max_model_len: 32_768 }] }],
};

test.each(Object.entries(answers))('%s is found by its own answer, and is taken for no other', async (name, answer) => {
  const port = await serve(answering(...answer));
  const { found } = search(port);
  await expect.poll(found).toEqual([{ name, url: `http://127.0.0.1:${port}` }]);
});

test('an engine that listens on IPv6 alone is found', async () => {
  const port = await serve(answering(...(answers['vLLM'] ?? ['', {}])), '::1');
  const { found } = search(port);
  await expect.poll(found).toEqual([{ name: 'vLLM', url: `http://[::1]:${port}` }]);
});

const weirsModels = { data: [{ id: 'a/b', object: 'model', owned_by: 'vllm', context_length: 40_960 }] };
const vllmList = JSON.stringify(answers['vLLM']?.[1]);

/** Each server must be asked all four questions; `done` counts those that have ended. */
const others: readonly (readonly [string, RequestListener])[] = [
  ['Weir, whose models are of vLLM', answering('/v1/models', weirsModels)],
  ['Ollama without a model', answering('/api/tags', { models: [] })],
  [
    'a list as llama-server has it for clients of Ollama',
    answering('/api/tags', { models: [{ name: 'x', digest: '' }] }),
  ],
  ['a server that says yes to everything', (_, response) => void response.end('{"ok": true, "version": "1.0"}')],
  ['a page', (_, response) => void response.end('<!doctype html>')],
  ['no JSON object', (_, response) => void response.end('null')],
  ['an empty answer', (_, response) => void response.end()],
  ['a refusal', (_, response) => void response.writeHead(401).end(vllmList)],
  ['more than is read', (_, response) => void response.end(`${vllmList}${' '.repeat(1_100_000)}`)],
  ['a connection that is cut', (_, response) => void response.write('{', () => response.destroy())],
];

test.each(others)('%s is no engine', async (_, listener) => {
  let ended = 0;
  const port = await serve((request, response) => {
    response.once('close', () => (ended += 1));
    listener(request, response);
  });
  const { found } = search(port);
  await expect.poll(() => ended).toBe(usualEngines.length);
  // An engine that is asked later has been found, so all answers have been read.
  const later = search(await serve(answering(...(answers['vLLM'] ?? ['', {}]))));
  await expect.poll(later.found).toHaveLength(1);
  expect(found()).toEqual([]);
});

test('a redirect to an engine is not followed', async () => {
  let asked = 0;
  const engine = await serve((request, response) => {
    asked += 1;
    answering(...(answers['vLLM'] ?? ['', {}]))(request, response);
  });
  let ended = 0;
  const port = await serve((request, response) => {
    response.once('close', () => (ended += 1));
    response.writeHead(302, { location: `http://127.0.0.1:${engine}${request.url}` }).end();
  });
  const { found } = search(port);
  await expect.poll(() => ended).toBe(usualEngines.length);
  expect([asked, found()]).toEqual([0, []]);
});

test('what speaks no HTTP is no engine', async () => {
  let closed = 0;
  const port = await listen(
    createTcpServer((socket) => {
      socket.resume().on('error', () => undefined);
      socket.on('close', () => (closed += 1));
      socket.write('220 mail ready\r\n');
    }),
    '127.0.0.1',
  );
  const { found } = search(port);
  await expect.poll(() => closed).toBe(usualEngines.length);
  expect(found()).toEqual([]);
});

test('a server without an answer is not waited for, and its connections end with the search', async () => {
  let open = 0;
  const server = createTcpServer((socket) => {
    open += 1;
    socket.resume().on('error', () => undefined);
    socket.on('close', () => (open -= 1));
  });
  const { found, end } = search(await listen(server, '127.0.0.1'));
  await expect.poll(() => open).toBe(usualEngines.length);
  expect(found()).toEqual([]);
  end();
  await expect.poll(() => open).toBe(0);
});

test('the port of the gateway itself is not asked', async () => {
  let asked = 0;
  const port = await serve((_, response) => {
    asked += 1;
    response.end();
  });
  search(port, port);
  const other = await serve(answering(...(answers['SGLang'] ?? ['', {}])));
  await expect.poll(search(other).found).toHaveLength(1);
  expect(asked).toBe(0);
});

const baseUrl = 'http://127.0.0.1:8080/v1';
const found = [{ name: 'Ollama', url: 'http://127.0.0.1:11434' }];
const hosted = { OPENAI_API_KEY: 'sk-secret', OPENAI_BASE_URL: 'https://api.example.com/v1' };

test('a command has the arguments of this start', () => {
  const argv = ['--port', '8090', '--data', "my mother's folder"];
  expect(serveCommands(found, { argv, env: {}, baseUrl })).toEqual([
    {
      name: 'Ollama',
      command: String.raw`npm start -- --port 8090 --data 'my mother'\''s folder' --upstream http://127.0.0.1:11434`,
    },
  ]);
});

test('a hosted engine of the environment is named by its variables', () => {
  const commands = serveCommands(found, { argv: [], env: hosted, baseUrl });
  expect(commands.map(({ command }) => command)).toEqual([
    'npm start -- --upstream http://127.0.0.1:11434',
    'WEIR_UPSTREAM_KEY="$OPENAI_API_KEY" npm start -- --upstream "$OPENAI_BASE_URL"',
  ]);
});

test.each([
  ['without a key', { ...hosted, OPENAI_API_KEY: '' }],
  ['without an address', { OPENAI_API_KEY: 'sk-secret' }],
  ['with a key of Weir', { ...hosted, OPENAI_API_KEY: 'sk-weir-abc' }],
  ['with the address of this gateway', { ...hosted, OPENAI_BASE_URL: 'http://localhost:8080/v1' }],
  ['with an address that is none', { ...hosted, OPENAI_BASE_URL: 'api.example.com' }],
  ['with a password in the address', { ...hosted, OPENAI_BASE_URL: 'https://a:b@api.example.com/v1' }],
])('a hosted engine is not offered %s', (_, env) => {
  expect(serveCommands([], { argv: [], env, baseUrl })).toEqual([]);
});
