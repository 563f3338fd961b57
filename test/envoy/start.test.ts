// @suite long
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { allGone, chat, newDataFolder, removeStarts, runStart, socketsIn, start } from '../support/start.ts';

afterEach(removeStarts);

/** About three seconds of answer. */
const slow = 'Tell me about weirs in 150 words.';

test('serves the demo, prints a key and a curl that works, and Ctrl-C leaves nothing behind', async () => {
  const gateway = await start([]);
  const pids = gateway.processes();
  expect(Object.keys(pids).toSorted()).toEqual(['Envoy', 'the demo engine', 'the service', 'weir start']);
  expect(gateway.stdout().match(/^ready .*$/gm)).toEqual([`ready ${gateway.baseUrl}`]);
  expect(gateway.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect(readFileSync(join(gateway.data, 'demo-key'), 'utf8').trim()).toBe(gateway.key);
  expect(statSync(join(gateway.data, 'demo-key')).mode & 0o777).toBe(0o600);

  const [curl = ''] = /^KEY=.*?(?=\n\n)/ms.exec(gateway.stdout()) ?? [];
  const pasted = await runShell(curl);
  expect(pasted).toContain('"model":"demo/chat"');
  expect(pasted.trimEnd()).toMatch(/data: \[DONE\]$/);
  expect((await fetch(new URL('/readyz', gateway.opsUrl))).status).toBe(200);

  const { code, stderr } = await gateway.stop('SIGINT');
  expect(code).toBe(0);
  expect(stderr).not.toContain('killed');
  await allGone(pids, 0);
  expect(socketsIn(gateway.data)).toEqual([]);
  await expect(fetch(gateway.baseUrl)).rejects.toThrow('fetch failed');
});

test('serves this machine alone, unless WEIR_EDGE_HOST says otherwise', async () => {
  const own = await start([]);
  const { port } = new URL(own.baseUrl);
  await expect(fetch(`http://127.0.0.2:${port}/healthz`)).rejects.toThrow('fetch failed');
  await own.stop();
  const open = await start([], { env: { WEIR_EDGE_HOST: '0.0.0.0' } });
  expect(new URL(open.baseUrl).hostname).toBe('127.0.0.1');
  expect((await fetch(open.baseUrl.replace('127.0.0.1', '127.0.0.2').replace('/v1', '/healthz'))).status).toBe(200);
  await open.stop();
  const elsewhere = await start([], { env: { WEIR_EDGE_HOST: '127.0.0.3' } });
  expect(new URL(elsewhere.baseUrl).hostname).toBe('127.0.0.3');
  expect((await chat(elsewhere, {})).status).toBe(200);
});

test('keeps the connection of a caller with a key, and closes that of one without', async () => {
  const gateway = await start([], { env: { WEIR_UNAUTHENTICATED_IDLE_SECONDS: '2' } });
  const { hostname, port } = new URL(gateway.baseUrl);
  const ask = async (key: string) => {
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify({ model: 'demo/chat', messages: [{ role: 'user', content: 'Hello!' }] });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.resume();
    return { socket, status: answer.toString().split(' ')[1] };
  };
  const known = await ask(gateway.key);
  const stranger = await ask('sk-weir-wrong');
  expect([known.status, stranger.status]).toEqual(['200', '401']);
  await once(stranger.socket, 'close');
  expect(known.socket.readyState).toBe('open');
  const closed = once(known.socket, 'close');
  known.socket.destroy();
  await closed;
});

test('the next start on the same folder prints the same key', async () => {
  const first = await start([]);
  await first.stop();
  const second = await start([], { data: first.data });
  expect(second.key).toBe(first.key);
  expect((await chat(second, {})).status).toBe(200);
});

test('Ctrl-C lets an open stream end and takes no new caller; the same Ctrl-C arriving twice is one', async () => {
  const gateway = await start([]);
  const response = await chat(gateway, { stream: true, content: slow });
  const pids = gateway.processes();
  gateway.child.kill('SIGINT');
  gateway.child.kill('SIGINT');
  await gateway.said(/Finishing 1 open request/);
  await expect(fetch(gateway.baseUrl)).rejects.toThrow('fetch failed');
  expect((await response.text()).trimEnd()).toMatch(/data: \[DONE\]$/);
  expect((await gateway.ended).code).toBe(0);
  await allGone(pids, 0);
});

test('a second Ctrl-C ends open streams at once', async () => {
  const gateway = await start([]);
  const response = await chat(gateway, { stream: true, content: 'Tell me about weirs in 5000 words.' });
  const reading = response.text().then(
    () => 'ended',
    (error: Error) => error.message,
  );
  const pids = gateway.processes();
  gateway.child.kill('SIGINT');
  await gateway.said(/Finishing 1 open request/);
  // What one keystroke may send twice is over after a second.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const { code } = await gateway.stop('SIGINT');
  expect(code).toBe(0);
  expect(await reading).toBe('terminated');
  await allGone(pids, 0);
});

test('two starts at the same moment, each on a folder and port of its own, both serve', async () => {
  const both = await Promise.all([start([]), start([])]);
  expect(new Set(both.map(({ baseUrl }) => baseUrl)).size).toBe(2);
  expect(new Set(both.map(({ opsUrl }) => opsUrl)).size).toBe(2);
  for (const gateway of both) expect((await chat(gateway, {})).status).toBe(200);
  expect((await Promise.all(both.map((gateway) => gateway.stop()))).map(({ code }) => code)).toEqual([0, 0]);
});

test('a second start on a folder in use is refused with the pid of the first, which goes on', async () => {
  const first = await start([]);
  const second = await runStart([], { data: first.data }).ended;
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`in use by another \`weir start\` (pid ${first.processes()['weir start']})`);
  expect((await chat(first, {})).status).toBe(200);
});

test('through npm, a signal to npm alone ends everything', async () => {
  const gateway = await start([], { throughNpm: true });
  const pids = gateway.processes();
  expect((await chat(gateway, {})).status).toBe(200);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  await allGone(pids);
  expect(socketsIn(gateway.data)).toEqual([]);
});

test('through npm, Ctrl-C in a terminal, which reaches the whole group, ends everything in order', async () => {
  const gateway = await start([], { throughNpm: true });
  const pids = gateway.processes();
  const response = await chat(gateway, { stream: true, content: slow });
  process.kill(-(gateway.child.pid ?? 0), 'SIGINT');
  expect((await response.text()).trimEnd()).toMatch(/data: \[DONE\]$/);
  await gateway.ended;
  await allGone(pids);
  expect(gateway.stderr()).toContain('Ending …');
});

test('a data folder whose path is too long for a socket is served from elsewhere', async () => {
  const data = join(newDataFolder(), 'long'.repeat(30));
  const gateway = await start([], { data });
  expect((await chat(gateway, {})).status).toBe(200);
  expect((await gateway.stop()).code).toBe(0);
});

function runShell(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', command], (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });
}
