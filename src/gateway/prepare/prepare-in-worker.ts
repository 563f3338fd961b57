import type { SealFiles } from '../../core/web-search.ts';
import type { Surface } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import type { ImageHosts } from '../../core/image-hosts.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { PrepareAsk, PrepareReply } from './prepare-task.ts';
import { startThread } from '../../process/worker-thread.ts';

export interface PrepareWorker {
  readonly prepare: (bytes: Uint8Array, surface: Surface) => Promise<PreparedRequest>;
  readonly close: () => Promise<void>;
}

const silenceMs = 20_000;

/** Starts the thread that reads large bodies. If it dies or falls silent, its current tasks fail with `overloaded`. */
export function startPrepareWorker(options: {
  readonly script: URL;
  readonly tokenizerRoot: string;
  readonly imageHosts: ImageHosts;
  readonly keepsBillingLines: boolean;
  readonly sealFiles?: SealFiles | undefined;
}): PrepareWorker {
  const { script, ...workerData } = options;
  const thread = startThread<PrepareAsk, PrepareReply>({ script, workerData, silenceMs });
  let nextHandle = 0;
  let isClosed = false;

  async function ask(question: PrepareAsk, transfer?: ArrayBuffer[]): Promise<PrepareReply> {
    if (isClosed) throw new Failure('overloaded', 'The service is stopping. It is safe to retry.');
    try {
      return await thread.ask(question, transfer);
    } catch (cause) {
      throw new Failure('overloaded', 'The service ran out of room for this request. Retry with backoff.', { cause });
    }
  }

  const failed = (reply: PrepareReply): Failure =>
    reply.kind === 'failed' ? new Failure(reply.code, reply.message) : new Failure('internal', 'Unexpected reply.');

  return {
    prepare: async (bytes, surface) => {
      const handle = nextHandle++;
      // A buffer with these bytes alone is transferred; bytes in a shared pool are copied.
      const { buffer } = bytes;
      const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
      const own = isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
      const reply = await ask({ kind: 'read', handle, bytes: own, surface }, [own.buffer]);
      if (reply.kind !== 'read') throw failed(reply);
      return {
        request: reply.request,
        shape: reply.shape,
        bodyFor: async (target) => {
          const written = await ask({ kind: 'write', handle, target });
          if (written.kind !== 'written') throw failed(written);
          return written.bytes;
        },
        countPrompt: async (count) => {
          const counted = await ask({ kind: 'count', handle, ask: count });
          if (counted.kind !== 'counted') throw failed(counted);
          return counted.count;
        },
        blocksFor: async (key) => {
          const divided = await ask({ kind: 'divide', handle, key });
          if (divided.kind !== 'divided') throw failed(divided);
          return divided.blocks;
        },
        release: () => thread.post({ kind: 'release', handle }),
      };
    },
    close: () => {
      isClosed = true;
      return thread.close();
    },
  };
}
