import type { ReadOptions, Surface } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import { createTaskLimit } from '../../core/task-limit.ts';
import { type StartThread, ThreadEnded } from '../../core/worker-thread.ts';
import { blocksOf } from '../request/prepare.ts';
import type { createFunctions, PrepareData } from './prepare-worker.ts';

export type PrepareWorker = ReturnType<typeof startPrepareWorker>;

type ReadBody = ReturnType<ReturnType<typeof createFunctions>['read']>;

const silenceMs = 20_000;

/**
 * Bodies in the queue of the thread, so that it always finds the next one. The others wait in front of it as they arrived. Otherwise all
 * of them would be parsed before the first one could be written for its engine: 150 bodies of 1 MB had 450 MB of heap.
 */
const maxReads = 4;

/**
 * Starts the thread that reads large bodies. If it dies, falls silent or is closed, its current tasks fail with `overloaded`, and so
 * do tasks after its close.
 */
export function startPrepareWorker({
  startThread,
  module = new URL('./prepare-worker.ts', import.meta.url),
  secret = () => undefined,
  ...data
}: PrepareData & {
  readonly startThread: StartThread;
  readonly module?: URL;
  /** Opens the ids of calls, and the state of engines. It can change. */
  readonly secret?: () => string | undefined;
}) {
  const thread = startThread<typeof createFunctions>({ module, data, isLowPriority: true, silenceMs });
  const { run: inTurn } = createTaskLimit(maxReads);
  let nextHandle = 0;
  let isClosed = false;

  const orOverloaded = (cause: unknown): never => {
    if (!(cause instanceof ThreadEnded)) throw cause;
    const reason = isClosed
      ? 'The service is stopping. It is safe to retry.'
      : 'The service ran out of room for this request. Retry with backoff.';
    throw new Failure('overloaded', reason, { cause });
  };

  return {
    prepare: async (
      bytes: Uint8Array,
      surface: Surface,
      { isCount }: Pick<ReadOptions, 'isCount'> = {},
    ): Promise<PreparedRequest> => {
      const handle = nextHandle++;
      // A buffer with these bytes alone is transferred; bytes in a shared pool are copied.
      const { buffer } = bytes;
      const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
      const own = isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
      const how = { surface, isCount, secret: secret() };
      const read = (): Promise<ReadBody> => thread.call('read', [handle, own, how], [own.buffer]);
      const { request, shape, contents } = await inTurn(read).catch(orOverloaded);
      return {
        ...{ request, shape },
        bodyFor: (target) => thread.call('write', [handle, target]).catch(orOverloaded),
        countPrompt: (ask) => thread.call('count', [handle, ask]).catch(orOverloaded),
        blocksFor: blocksOf(contents),
        release: () => thread.post('release', [handle]),
      };
    },
    close: (): Promise<void> => {
      isClosed = true;
      return thread.close();
    },
  };
}
