import { randomUUID } from 'node:crypto';
import { messageOf } from '../core/failure.ts';
import { openJournal } from './databases/journal/journal.ts';
import { type Machine, thisMachine } from './databases/machine.ts';
import { openDatabase } from './databases/open-database.ts';
import { createWorkerLoop } from './worker-loop.ts';
import type { StoreReply, StoreRequest, StoreWorkerData } from './worker-message.ts';

const segmentBytes = 4 * 1024 * 1024;
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
 * Runs the store until a request closes it, usually in a thread of its own: calls of SQLite and of the journal block while
 * they wait for the disk, and there they block nothing else.
 */
export async function runStore(
  worker: StoreWorkerData,
  port: StorePort,
  machine: Machine = thisMachine,
): Promise<void> {
  const { location, journalFolder, journalBytes, retentionDays } = worker;
  const { reply } = port;
  try {
    const journal = openJournal({ folder: journalFolder, maxBytes: journalBytes, segmentBytes, machine });
    const loop = createWorkerLoop({
      location,
      replica: randomUUID(),
      open: () => openDatabase(location, { missing: 'create', user: 'service' }, machine),
      journal,
      fullBytes: journalBytes * fullShare,
      retentionDays,
      reply,
      time: machine.time,
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
