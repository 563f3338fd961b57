import { randomUUID } from 'node:crypto';
import { messageOf } from '../../core/failure.ts';
import { openJournal } from '../databases/journal/journal.ts';
import { type Machine, thisMachine } from '../databases/machine.ts';
import { openDatabase } from '../databases/open-database.ts';
import { createWorkerLoop } from './worker-loop.ts';
import type { StoreReply, StoreRequest, StoreWorkerData } from './worker-message.ts';

/** Files in a full journal. Each is read in one piece. */
const maxJournalFiles = 64;
/** Share of the journal above which new requests are refused; the rest is for the rows of requests under way. */
const fullShare = 0.8;

/** The store's end of the connection between it and the service. */
export interface StorePort {
  readonly reply: (message: StoreReply) => void;
  /** Calls `take` with each request from now on. */
  readonly listen: (take: (request: StoreRequest) => void) => void;
  /** Nothing follows. */
  readonly close: () => void;
}

/**
 * Runs the store until a request closes it. Calls of SQLite and of the journal block their thread while they wait for
 * the disk, so a service gives the store a thread of its own.
 */
export async function runStore(
  worker: StoreWorkerData,
  port: StorePort,
  machine: Machine = thisMachine,
): Promise<void> {
  const { location, journalFolder, journalBytes, retentionDays } = worker;
  const { reply } = port;
  const segmentBytes = journalBytes / maxJournalFiles;
  try {
    const journal = openJournal({ folder: journalFolder, maxBytes: journalBytes, segmentBytes, machine });
    const loop = createWorkerLoop({
      replica: randomUUID(),
      open: () => openDatabase(location, { missing: 'create', user: 'service' }, machine),
      journal,
      fullBytes: journalBytes * fullShare,
      retentionDays,
      reply,
      clock: machine.time,
      nextTurn: () => new Promise((resolve) => machine.time.nextTurn(resolve)),
    });
    port.listen((request) => {
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
