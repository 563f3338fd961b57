/**
 * Reads and writes large bodies in a thread of its own. The messages stay here; the main thread gets the rest of the
 * request, and the bytes for an engine when it asks for them.
 */
import { parentPort } from 'node:worker_threads';
import { asFailure } from './core/failure.ts';
import type { Request } from './core/request.ts';
import type { PrepareReply, PrepareTask } from './core/prepare-task.ts';
import { hasImages, readBody, writeBody } from './prepare.ts';

const held = new Map<number, Request>();
const encoder = new TextEncoder();

function work(task: PrepareTask): PrepareReply {
  switch (task.kind) {
    case 'read': {
      const request = readBody(task.bytes);
      held.set(task.handle, request);
      const { messages: _, ...rest } = request;
      return { kind: 'read', request: rest, hasImages: hasImages(request) };
    }
    case 'write': {
      const request = held.get(task.handle);
      if (request === undefined) throw new Error('request was let go of');
      return { kind: 'written', bytes: encoder.encode(writeBody(request, task.target)) };
    }
  }
}

parentPort?.on('message', (task: PrepareTask | { readonly kind: 'release'; readonly handle: number }) => {
  if (task.kind === 'release') {
    held.delete(task.handle);
    return;
  }
  let reply: PrepareReply;
  try {
    reply = work(task);
  } catch (error) {
    const { code, message } = asFailure(error);
    reply = { kind: 'failed', code, message };
  }
  const transfer = reply.kind === 'written' ? [reply.bytes.buffer] : [];
  parentPort?.postMessage({ id: task.id, reply }, transfer);
});
