import type { Worker, WorkerOptions } from 'node:worker_threads';
import { connectStore, type OpenStore, type StoreClientOptions } from './connect-store.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import { takeJournalFolder, type TryLock } from '../databases/journal/folder.ts';
import { thisMachine } from '../databases/machine.ts';
import type { StoreReply, StoreWorkerData } from './worker-message.ts';

/** About half a million rows. */
const usualJournalBytes = 256 * 1024 * 1024;

export interface StoreOptions extends Pick<StoreClientOptions, 'onStatus' | 'onCommit'> {
  readonly location: DatabaseLocation;
  /** The thread to use, by `startStoreThread`. */
  readonly thread: Worker;
  /** Folder of the journal. It must outlive the process; several processes may share it. */
  readonly journal: string;
  /** Locks a file; the lock ends with its process. */
  readonly tryLock: TryLock;
  /** Most bytes in the journal. Above four fifths of it, new requests are refused. */
  readonly journalBytes?: number;
  /** Requests are kept for at least this many days. Default: 0, which means for good. */
  readonly retentionDays?: number;
  /** Called with each path in the journal's folder that Weir has not made; the path is left alone. */
  readonly onForeignFile?: (path: string) => void;
}

/**
 * The thread's young objects are the rows of one batch. With the flags of the service's main thread (`nodeFlags` of
 * src/programs/local/launch-service.ts) the thread took 18 MiB more, and no less processor time.
 */
const maxYoungGenerationSizeMb = 4;

/**
 * Starts a thread for a store, whose modules load from now on. It keeps the process alive once a store uses it. `startWorker`: that of
 * src/process/worker-thread.ts.
 */
export function startStoreThread(startWorker: (script: URL, options: WorkerOptions) => Worker): Worker {
  const worker = startWorker(new URL('./store-worker.ts', import.meta.url), {
    name: 'weir-store',
    resourceLimits: { maxYoungGenerationSizeMb },
  });
  worker.unref();
  return worker;
}

/**
 * Opens the accounts and the ledger for a service, in a thread of their own. Makes a missing SQLite file. While a
 * PostgreSQL server does not answer, the store is open with the status `down`. Rejects with a sentence that names the
 * database if waiting cannot help, and if the folder of the journal cannot be made.
 */
export async function openStore(options: StoreOptions): Promise<OpenStore> {
  const { location, journalBytes = usualJournalBytes, retentionDays = 0, thread: worker } = options;
  const { onStatus, onCommit } = options;
  const journal = takeJournalFolder(options.journal, options.tryLock);
  for (const path of journal.foreignFiles) options.onForeignFile?.(path);
  const what: StoreWorkerData = { location, journalFolder: journal.folder, journalBytes, retentionDays };
  worker.ref();
  worker.postMessage(what);
  return connectStore(
    {
      post: (request) => worker.postMessage(request),
      listen: ({ reply, failed, ended }) => {
        worker.on('message', (message: StoreReply) => reply(message));
        worker.on('error', (error) => failed(error instanceof Error ? error : new Error(String(error))));
        worker.on('exit', (code) => {
          journal.release();
          ended(code);
        });
      },
    },
    { kind: location.kind, journalBytes, retentionDays, onStatus, onCommit },
    thisMachine.time,
  );
}
