/**
 * Reads, counts and writes large bodies in a thread of its own. The messages stay in this thread. The main thread gets
 * the rest of the request, and the bytes for an engine when it asks for them.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../process/machine.ts';
import { openSeal } from '../web-search/seal/seal.ts';
import { countPrompt } from '../tokenizer/count-prompt.ts';
import { createTokenizerCache } from '../tokenizer/loaded-tokenizer.ts';
import { asFailure } from '../../core/failure.ts';
import type { ImageHosts } from '../../core/image-hosts.ts';
import type { PromptCount, PromptCountAsk } from '../../core/prompt.ts';
import type { PrepareAsk, PrepareReply } from './prepare-task.ts';
import type { ThreadMessage } from '../../core/worker-thread.ts';
import type { Request } from '../../core/request.ts';
import { blocksOf, handedOver, promptOf, readBody, writeBody } from '../request/prepare.ts';
import type { SealFiles } from '../../core/web-search.ts';

/** Most time one count may take, milliseconds. */
const allowanceMs = 2_500;

const held = new Map<number, Request>();
const encoder = new TextEncoder();

// oxlint-disable-next-line typescript/consistent-type-assertions -- what prepare-in-worker.ts hands over
const { tokenizerRoot, imageHosts, keepsBillingLines, sealFiles } = workerData as {
  readonly tokenizerRoot: string;
  readonly imageHosts: ImageHosts;
  readonly keepsBillingLines: boolean;
  readonly sealFiles?: SealFiles | undefined;
};
const tokenizers = createTokenizerCache({ root: tokenizerRoot, now: () => Date.now() });
const seal = sealFiles && openSeal({ ...sealFiles, elapsed: () => performance.now() });
const sealing = seal && { seal, traces: seal };

function heldRequest(handle: number): Request {
  const request = held.get(handle);
  if (request === undefined) throw new Error('the request was released');
  return request;
}

async function count(request: Request, ask: PromptCountAsk): Promise<PromptCount> {
  const { tokenizerPath, templateArguments, form, ...options } = ask;
  const tokenizer = await tokenizers.get(tokenizerPath).catch(() => undefined);
  if (tokenizer === undefined) return { kind: 'unknown', reason: 'tokenizer' };
  const allowance = { milliseconds: allowanceMs, elapsed: () => performance.now() };
  return countPrompt(tokenizer, promptOf(request, { templateArguments, form }), { ...options, ...allowance });
}

async function work(task: Exclude<PrepareAsk, { readonly kind: 'release' }>): Promise<PrepareReply> {
  switch (task.kind) {
    case 'read': {
      const { surface } = task;
      const { request, shape } = readBody(task.bytes, { surface, imageHosts, keepsBillingLines, ...sealing });
      held.set(task.handle, request);
      return { kind: 'read', request: handedOver(request), shape };
    }
    case 'write':
      return { kind: 'written', bytes: encoder.encode(writeBody(heldRequest(task.handle), task.target)) };
    case 'count':
      return { kind: 'counted', count: await count(heldRequest(task.handle), task.ask) };
    case 'divide':
      return { kind: 'divided', blocks: blocksOf(heldRequest(task.handle), task.key) };
  }
}

async function answer({ id, ask }: ThreadMessage<PrepareAsk>): Promise<void> {
  if (ask.kind === 'release') {
    held.delete(ask.handle);
    return;
  }
  const reply = await work(ask).catch((error: unknown): PrepareReply => {
    const { code, message } = asFailure(error);
    return { kind: 'failed', code, message };
  });
  parentPort?.postMessage({ id, reply }, reply.kind === 'written' ? [reply.bytes.buffer] : []);
}

lowerPriority();
parentPort?.on('message', (message: ThreadMessage<PrepareAsk>) => void answer(message));
