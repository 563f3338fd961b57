import { Worker } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import type { PreparedRequest } from '../../core/prepared.ts';
import type { PrepareReply, PrepareTask } from '../../core/prepare-task.ts';

export interface PrepareWorker {
  readonly prepare: (bytes: Uint8Array) => Promise<PreparedRequest>;
  readonly close: () => Promise<void>;
}

type Ask =
  | Pick<Extract<PrepareTask, { kind: 'read' }>, 'kind' | 'handle' | 'bytes'>
  | Pick<Extract<PrepareTask, { kind: 'write' }>, 'kind' | 'handle' | 'target'>;

interface Waiting {
  readonly resolve: (reply: PrepareReply) => void;
  readonly reject: (error: Failure) => void;
}

/** Starts the thread that reads large bodies. It is started anew should it ever die; what it was doing fails. */
export function startPrepareWorker(script: URL): PrepareWorker {
  const waiting = new Map<number, Waiting>();
  let nextId = 0;
  let worker: Worker | undefined;
  let closed = false;

  function start(): Worker {
    const started = new Worker(script);
    started.unref();
    started.on('message', ({ id, reply }: { readonly id: number; readonly reply: PrepareReply }) => {
      waiting.get(id)?.resolve(reply);
      waiting.delete(id);
    });
    const died = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      for (const { reject } of waiting.values()) {
        reject(
          new Failure('overloaded', 'The service ran out of room for this request. It is safe to retry.', { cause }),
        );
      }
      waiting.clear();
    };
    started.on('error', died);
    started.on('exit', died);
    return started;
  }

  function ask(task: Ask, transfer: ArrayBuffer[] = []): Promise<PrepareReply> {
    if (closed) return Promise.reject(new Failure('overloaded', 'The service is stopping. It is safe to retry.'));
    worker ??= start();
    const id = nextId++;
    const answer = new Promise<PrepareReply>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
    });
    worker.postMessage({ id, ...task }, transfer);
    return answer;
  }

  const failed = (reply: PrepareReply): Failure =>
    reply.kind === 'failed' ? new Failure(reply.code, reply.message) : new Failure('internal', 'Unexpected reply.');

  return {
    prepare: async (bytes) => {
      const handle = nextId++;
      const bodyBytes = bytes.length;
      // Hands the memory over where it is ours alone; a view into a shared pool is copied.
      const { buffer } = bytes;
      const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
      const own = isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
      const reply = await ask({ kind: 'read', handle, bytes: own }, [own.buffer]);
      if (reply.kind !== 'read') throw failed(reply);
      return {
        request: reply.request,
        hasImages: reply.hasImages,
        bodyBytes,
        bodyFor: async (target) => {
          const written = await ask({ kind: 'write', handle, target });
          if (written.kind !== 'written') throw failed(written);
          return written.bytes;
        },
        release: () => worker?.postMessage({ kind: 'release', handle }),
      };
    },
    close: async () => {
      closed = true;
      await worker?.terminate();
    },
  };
}
