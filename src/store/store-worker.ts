import { randomUUID } from 'node:crypto';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Clock } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { openJournal } from './databases/journal/journal.ts';
import { openDatabase } from './databases/open-database.ts';
import { createWorkerLoop } from './worker-loop.ts';
import type { StoreReply, StoreRequest, StoreWorkerData } from './worker-message.ts';

const segmentBytes = 4 * 1024 * 1024;
/** Share of the journal above which new requests are refused; the rest is for the rows of requests under way. */
const fullShare = 0.8;

const clock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * The store's thread. Calls of SQLite and of the journal block their thread while they wait for the disk, so they have
 * a thread of their own. `openStore` starts it.
 */
async function run(port: MessagePort, worker: StoreWorkerData): Promise<void> {
  const { location, journalFolder, journalBytes, retentionDays } = worker;
  const reply = (message: StoreReply) => port.postMessage(message);
  try {
    const journal = openJournal({ folder: journalFolder, maxBytes: journalBytes, segmentBytes });
    const loop = createWorkerLoop({
      replica: randomUUID(),
      open: () => openDatabase(location, { missing: 'create', user: 'service' }),
      journal,
      fullBytes: journalBytes * fullShare,
      retentionDays,
      reply,
      clock,
      nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    });
    port.on('message', (request: StoreRequest) => {
      if (request.kind === 'close') void loop.close().finally(() => port.close());
      else loop.take(request);
    });
    await loop.start();
    reply({ kind: 'ready' });
  } catch (error) {
    reply({ kind: 'unusable', message: messageOf(error) });
    port.close();
  }
}

// oxlint-disable-next-line typescript/consistent-type-assertions -- `openStore`, which starts this thread, is typed to give exactly this.
if (parentPort) await run(parentPort, workerData as StoreWorkerData);
