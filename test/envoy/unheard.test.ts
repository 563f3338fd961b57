import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { openBlackHole } from './support/chaos/black-hole.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

/** Accepts connections, reads what comes, and never says a word. */
interface Mute {
  readonly port: number;
  /** Resolves when a request for an answer has come. `weir start` also asks each engine for its list of models. */
  readonly asked: Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function openMute(): Promise<Mute> {
  const sockets = new Set<Socket>();
  const asked = Promise.withResolvers<void>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      if (bytes.includes('POST ')) asked.resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    asked: asked.promise,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const [hole, mute] = await forFile([await openBlackHole(), await openMute()]);
const working = await forFile(startProgrammableEngine({ name: 'working', behaviour: { reasoning: 'never' } }));
const dying = await startProgrammableEngine({ name: 'dying', behaviour: { reasoning: 'never' } });
const engines = Object.entries({ hole, mute, working, dying });
const manifests = engines.map(
  ([name, engine]) => backendManifest(name, engine) + modelManifest(`test/${name}`, [name]),
);
const weir = await forFile(startWeir({ manifests: { 'catalog.yaml': manifests.join('') } }));
const caller = await forFile(http1Caller(weir));

const ask = (model: string, directives: object, stream: boolean) => ({
  ...{ model, stream },
  messages: [{ role: 'user', content: `Tell me. [[demo ${JSON.stringify(directives)}]]` }],
});

/** The row of a request whose caller leaves as soon as `isWaiting` has resolved. */
async function rowOf(id: string, body: object, isWaiting: () => Promise<unknown>) {
  const request = caller.open(body, { headers: { 'x-request-id': id } });
  request.answer.catch(() => undefined);
  await isWaiting();
  request.leave();
  await weir.settled();
  return (await weir.ledger()).find((row) => row['correlation_id'] === id);
}

const free = { outcome: 'cancelled', attempts: 1, prompt_tokens: 0, completion_tokens: 0, cost: '0' };
const pending = (backend: string) => async (): Promise<void> => {
  await expect
    .poll(() => weir.admin(`/stats?filter=^cluster.${backend}.upstream_rq_pending_active`))
    .toMatch(/: [1-9]/);
};

test.each([true, false])('a connection that is not made yet bills nothing (stream: %s)', async (stream) => {
  expect(await rowOf(`hole-${stream}`, ask('test/hole', {}, stream), pending('hole'))).toMatchObject(free);
});

test('a backend that takes the request and has never answered bills nothing', async () => {
  expect(await rowOf('mute', ask('test/mute', {}, true), () => mute.asked)).toMatchObject(free);
});

test('an engine that has answered and is at work is paid for its prompt, headers or not', async () => {
  expect((await caller.ask(ask('test/working', { words: 1 }, true))).status).toBe(200);
  for (const stream of [true, false]) {
    const body = ask('test/working', { headersDelayMs: 60_000 }, stream);
    const row = await rowOf(`working-${stream}`, body, () => working.until(() => working.openRequests() === 1));
    expect(row).toMatchObject({ outcome: 'cancelled', attempts: 1, completion_tokens: 0 });
    expect(row?.['prompt_tokens']).toBeGreaterThan(0);
    await working.until(() => working.openRequests() === 0);
  }
});

test('an engine that answered a moment ago, and whose host is gone now, bills nothing', async () => {
  expect((await caller.ask(ask('test/dying', { words: 1 }, true))).status).toBe(200);
  const { port } = dying;
  await dying.close();
  const swallowing = await openBlackHole(port);
  expect(await rowOf('dying', ask('test/dying', {}, true), pending('dying'))).toMatchObject(free);
  await swallowing.close();
});
