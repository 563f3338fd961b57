// @suite apart
import { type ChildProcess, type SendHandle, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { compileCache } from '../../../test/support/program-environment.ts';
import { type Activation, listenForProgram } from './socket-activation.ts';

const root = join(import.meta.dirname, '..', '..');

/** Answers each request with its path. */
const program = `
import { createServer } from 'node:http';
import { listenForSupervisor } from ${JSON.stringify(join(root, 'process', 'handed-listener.ts'))};
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.end(request.url));
});
if (process.env.FAILS === '1') process.exit(1);
const isHanded = await listenForSupervisor(server);
process.on('message', () => undefined);
process.send({ type: 'ready', isHanded }, () => undefined);
`;

/** A port whose program is started by each first connection. `fails`: so many starts end before they serve. */
async function setUp({ fails = 0, maxWaiting = 100 } = {}) {
  const children: ChildProcess[] = [];
  const messages: unknown[] = [];
  const start = (): void => {
    if (children.some(({ exitCode }) => exitCode === null)) return;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...process.env, ...compileCache, ...activation.env(), FAILS: children.length < fails ? '1' : '0' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const sender = { send: (message: string | object, handle?: SendHandle) => void child.send(message, handle) };
    child.on('message', (message: { readonly type: string }) => {
      messages.push(message);
      activation.answer(message, sender);
      if (message.type === 'ready') activation.served(sender);
    });
    child.once('exit', () => activation.failed());
    children.push(child);
  };
  const activation: Activation = await listenForProgram({ host: '127.0.0.1', port: 0, maxWaiting, onWaiting: start });
  onTestFinished(() => {
    activation.close();
    for (const child of children) child.kill('SIGKILL');
  });
  return { activation, children, messages };
}

/** Everything that the server sends on a connection, which ends its own side at once if it is half-open; empty if it was closed. */
async function exchange(port: number, path: string, { isHalfOpen = false } = {}): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const request = `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
  if (isHalfOpen) socket.end(request);
  else socket.write(request);
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  socket.on('error', () => undefined);
  socket.on('end', () => socket.destroy());
  await new Promise((resolve) => socket.once('close', resolve));
  return text.split('\r\n\r\n').at(-1) ?? '';
}

it('starts the program with the first connection, and loses none of those that come before, while and after it takes over', async () => {
  const { activation, children, messages } = await setUp();
  expect(children).toEqual([]);
  const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
  const before = paths.map((path, index) => exchange(activation.port, path, { isHalfOpen: index % 2 === 1 }));
  // One after the other, from the first start until the program has served for a while.
  const throughout: string[] = [];
  while (messages.length < 2 || throughout.length < 30) {
    throughout.push(await exchange(activation.port, '/throughout'));
  }
  expect(await Promise.all(before)).toEqual(paths);
  expect(new Set(throughout)).toEqual(new Set(['/throughout']));
  expect(children).toHaveLength(1);
  expect(messages).toEqual([{ type: 'listen' }, { type: 'ready', isHanded: true }]);
});

it('closes the connections of a program that does not start, and starts it again with the next one', async () => {
  const { activation, children } = await setUp({ fails: 1 });
  expect(await exchange(activation.port, '/first')).toBe('');
  expect(await exchange(activation.port, '/second')).toBe('/second');
  expect(children).toHaveLength(2);
});

it('holds a bounded number of connections', async () => {
  const { activation } = await setUp({ maxWaiting: 2 });
  const answers = await Promise.all(['/1', '/2', '/3', '/4'].map((path) => exchange(activation.port, path)));
  expect(answers.toSorted()).toEqual(['', '', '/1', '/2']);
});

it('lets a program that starts again listen itself', async () => {
  const { activation, messages } = await setUp();
  expect(await exchange(activation.port, '/first')).toBe('/first');
  expect(activation.env()).toEqual({ LISTENER_OF_WEIR_START: undefined });
  expect(messages).toHaveLength(2);
});

it('takes a free port if another program has the wanted one', async () => {
  const { activation } = await setUp();
  const other = await listenForProgram({
    ...{ host: '127.0.0.1', port: activation.port, maxWaiting: 1, onWaiting: () => undefined },
  });
  onTestFinished(other.close);
  expect(other.port).not.toBe(activation.port);
});
