import { Worker } from 'node:worker_threads';
import { ByNumber } from '../core/by-number.ts';
import type { Surface } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { ImageHosts } from '../core/image-hosts.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { PrepareAsk, PrepareReply } from '../core/prepare-task.ts';

export interface PrepareWorker {
  readonly prepare: (bytes: Uint8Array, surface: Surface) => Promise<PreparedRequest>;
  readonly close: () => Promise<void>;
}

interface Waiting {
  readonly resolve: (reply: PrepareReply) => void;
  readonly reject: (error: Failure) => void;
}

/** Longest silence of the thread while it has work: a pattern or a template that never ends cannot be told to. */
const silenceMs = 20_000;

/**
 * Starts the thread that reads large bodies. It is started anew should it ever die or fall silent; what it was doing
 * fails.
 */
export function startPrepareWorker(options: {
  readonly script: URL;
  readonly tokenizerRoot: string;
  readonly imageHosts: ImageHosts;
  readonly keepsBillingLines: boolean;
  /** Where the keys are that open what searches found. */
  readonly sealFiles?: { readonly keyFile: string | undefined; readonly ownFile: string };
}): PrepareWorker {
  const { script, ...workerData } = options;
  const waiting = new ByNumber<Waiting>();
  let nextId = 0;
  let worker: Worker | undefined;
  let watchdog: NodeJS.Timeout | undefined;
  let closed = false;

  function start(): Worker {
    const started = new Worker(script, { workerData });
    started.unref();
    started.on('message', ({ id, reply }: { readonly id: number; readonly reply: PrepareReply }) => {
      waiting.get(id)?.resolve(reply);
      waiting.delete(id);
      watch(started);
    });
    const died = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      for (const { reject } of waiting.values()) {
        reject(
          new Failure('overloaded', 'The service ran out of room for this request. Retry with backoff.', { cause }),
        );
      }
      waiting.clear();
    };
    started.on('error', died);
    started.on('exit', died);
    return started;
  }

  function watch(watched: Worker): void {
    clearTimeout(watchdog);
    if (waiting.size > 0) watchdog = setTimeout(() => void watched.terminate(), silenceMs).unref();
  }

  function ask(handle: number, task: PrepareAsk, transfer: ArrayBuffer[] = []): Promise<PrepareReply> {
    if (closed) return Promise.reject(new Failure('overloaded', 'The service is stopping. It is safe to retry.'));
    worker ??= start();
    const id = nextId++;
    const answer = new Promise<PrepareReply>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
    });
    if (waiting.size === 1) watch(worker);
    worker.postMessage({ id, handle, ...task }, transfer);
    return answer;
  }

  const failed = (reply: PrepareReply): Failure =>
    reply.kind === 'failed' ? new Failure(reply.code, reply.message) : new Failure('internal', 'Unexpected reply.');

  return {
    prepare: async (bytes, surface) => {
      const handle = nextId++;
      // Hands the memory over where it is ours alone; a view into a shared pool is copied.
      const { buffer } = bytes;
      const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
      const own = isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
      const reply = await ask(handle, { kind: 'read', bytes: own, surface }, [own.buffer]);
      if (reply.kind !== 'read') throw failed(reply);
      return {
        request: reply.request,
        shape: reply.shape,
        bodyFor: async (target) => {
          const written = await ask(handle, { kind: 'write', target });
          if (written.kind !== 'written') throw failed(written);
          return written.bytes;
        },
        countPrompt: async (count) => {
          const counted = await ask(handle, { kind: 'count', ask: count });
          if (counted.kind !== 'counted') throw failed(counted);
          return counted.count;
        },
        release: () => worker?.postMessage({ kind: 'release', handle }),
      };
    },
    close: async () => {
      closed = true;
      clearTimeout(watchdog);
      await worker?.terminate();
    },
  };
}
