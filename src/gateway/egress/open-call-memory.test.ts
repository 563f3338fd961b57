import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { UpstreamCall, UpstreamListener } from '../core/upstream.ts';
import { findCollector } from '../../process/collect-garbage.ts';
import { EgressCall } from './egress-call.ts';
import { createEgress, type Egress } from './egress.ts';

let folder: string;
let egress: Egress;
let server: Server;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-egress-'));
  const socketPath = join(folder, 'egress.sock');
  // Answers with a head, and leaves the answer open.
  server = createServer((_, response) => response.writeHead(200).flushHeaders());
  server.listen(socketPath);
  await once(server, 'listening');
  egress = createEgress({ socketPath, atTurnEnd: setImmediate });
});

afterEach(async () => {
  await egress.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true, force: true });
});

const newCall = (): UpstreamCall => ({
  cluster: 'c',
  authority: 'a',
  path: '/',
  accept: 'application/json',
  body: '{"short":true}',
});

const listenerFor = (head: () => void): UpstreamListener => ({
  head,
  data: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
});

/** Makes a call whose answer has begun, and stays open. Returns only a weak reference to the call. */
async function openCall(): Promise<WeakRef<UpstreamCall>> {
  const begun = Promise.withResolvers<void>();
  const call = newCall();
  egress.call(call, listenerFor(begun.resolve));
  const reference = new WeakRef(call);
  await begun.promise;
  return reference;
}

it('keeps of a short body only its own bytes, not a shared pool of buffers', async () => {
  const bodies: unknown[] = [];
  const note = (message: unknown): void => {
    if (typeof message !== 'object' || message === null || !('request' in message)) return;
    const { request } = message;
    if (typeof request === 'object' && request !== null && 'body' in request) bodies.push(request.body);
  };
  subscribe('undici:request:create', note);
  try {
    await openCall();
  } finally {
    unsubscribe('undici:request:create', note);
  }
  const sizes = bodies.map((body) => (body instanceof Uint8Array ? body.buffer.byteLength : undefined));
  expect(sizes).toEqual([newCall().body.length]);
});

it('keeps nothing of a call whose answer has begun', async () => {
  const call = await openCall();
  // A weak reference holds its target until the turn of the event loop ends.
  await new Promise((resolve) => setImmediate(resolve));
  findCollector()({ type: 'major' });
  expect(call.deref()).toBeUndefined();
});

it('keeps nothing of the bytes that were read with a head', () => {
  const owner = { over: () => undefined, reached: () => Promise.resolve(false), atTurnEnd: setImmediate };
  const call = new EgressCall(
    listenerFor(() => undefined),
    owner,
  );
  const controller = { rawHeaders: [Buffer.from('a'), Buffer.from('b')], aborted: false, paused: false, reason: null };
  const control = { ...controller, abort: () => undefined, pause: () => undefined, resume: () => undefined };
  call.onResponseStart(control, 200, {});
  expect(control.rawHeaders).toBeNull();
});
