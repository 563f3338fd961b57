import { once } from 'node:events';
import { createServer, request as requestOver, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { freePort } from '../support/free-port.ts';
import { chat, removeStarts, start } from '../support/start.ts';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await removeStarts();
  for (const close of closers.splice(0)) await close();
});

/** `weir start` that looks for engines at these ports. */
const lookingAt = (ports: Readonly<Record<string, number>>) => ({
  program: [join('test', 'envoy', 'support', 'start-with-engines.ts'), JSON.stringify(ports)],
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A programmable engine whose list of models is that of vLLM. Calls `onRequest` with the path of each request. */
async function startFakeVllm(onRequest: (path: string) => void = () => undefined): Promise<number> {
  const engine = await startProgrammableEngine({ models: ['Qwen/Qwen3-8B'] });
  closers.push(engine.close);
  const list = { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', owned_by: 'vllm', max_model_len: 40_960 }] };
  const server = createServer((request, response) => {
    const { url: path = '', method, headers } = request;
    onRequest(path);
    if (path === '/v1/models') return void response.end(JSON.stringify(list));
    const passed = requestOver({ host: '127.0.0.1', port: engine.port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    return request.pipe(passed);
  });
  return listen(server);
}

test('prints the command that serves an engine of this machine, and the command works', async () => {
  const port = await startFakeVllm();
  const demo = await start([], lookingAt({ vLLM: port, Ollama: await freePort() }));
  const lines = demo.stdout().trimEnd().split('\n');
  expect(lines.filter((line) => line.startsWith('Found '))).toEqual([
    expect.stringMatching(/^Found vLLM\. To serve it:/),
  ]);
  expect(lines.at(-1)).toBe(`ready ${demo.baseUrl}`);
  expect((await chat(demo, { model: 'demo/chat' })).status).toBe(200);
  const [, command = ''] = /^ *(?:Found vLLM\. To serve it: +)?npm start -- (.*)$/m.exec(demo.stdout()) ?? [];
  expect(command).toContain(`--upstream http://127.0.0.1:${port}`);
  await demo.stop();

  const served = await start(command.split(' '), { data: demo.data });
  expect((await chat(served, { model: 'qwen/qwen3-8b' })).status).toBe(200);
  expect(served.stdout()).not.toContain('Found ');
});

test('names the variables of a hosted engine, and asks it nothing', async () => {
  const paths: string[] = [];
  const port = await startFakeVllm((path) => paths.push(path));
  const env = { OPENAI_API_KEY: 'sk-hosted-1', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
  const gateway = await start([], { ...lookingAt({}), env });
  expect(gateway.stdout()).toMatch(/^ *WEIR_UPSTREAM_KEY="\$OPENAI_API_KEY" npm start -- .*"\$OPENAI_BASE_URL"$/m);
  const { stdout, stderr } = await gateway.stop();
  expect(stdout + stderr).not.toContain('sk-hosted-1');
  expect(paths).toEqual([]);
});

test('does not wait for a silent program, and does not look where a source is given', async () => {
  let asked = 0;
  const silent = await listen(createServer(() => (asked += 1)));
  const ports = lookingAt({ Ollama: silent, 'llama-server': silent, vLLM: silent, SGLang: silent });
  const demo = await start([], ports);
  expect(asked).toBe(4);
  expect(demo.stdout()).not.toContain('Found ');
  expect((await demo.stop()).code).toBe(0);
  const empty = await start(['--no-demo'], ports);
  expect(empty.stdout()).not.toContain('Found ');
  expect(asked).toBe(4);
});
