import type { Store } from '../../core/account.ts';
import { type CancelTimer, every } from '../../core/clock.ts';
import type { RefusedRequest } from '../../core/refused-request.ts';
import { createReservationReport, type Reserved, reportReservedEveryMs } from '../accounts/reservation-report.ts';
import { newSecret } from '../accounts/shared-secret.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import type { StoreTime } from '../databases/machine.ts';
import { createCredentials, unavailable } from './credentials.ts';
import { createRefusalCounter } from './refusal-counter.ts';
import { createSettleQueue } from './settle-queue.ts';
import type { StoreReply, StoreRequest, StoreStatus } from './worker-message.ts';

/** Most rows that may wait for the disk: some seconds of a busy service, about 10 MB. */
const maxWaitingRows = 10_000;
const maxBatch = 1_000;
/**
 * Least time between two commits. A commit costs ten times as much as a row in it, so rows of a busy service share
 * commits. A row that arrives alone does not wait. At 4 ms the service completes a quarter fewer non-streaming answers,
 * because each waits for its row.
 */
const commitEveryMs = 2;

/** Not all changes are reported in time, so keys are read again. */
const readAgainEveryMs = 300;
const readInQuietMs = 1_000;
/** Shorter than that of the store's thread (`worker-state.ts`). */
const quietAfterMs = 6_000;
/** After this time without a query, a query checks that PostgreSQL answers. SQLite needs no such query. */
const lookEveryMs = 5_000;

/** Callbacks of a store, and what it was opened with. */
export interface StoreClientOptions {
  readonly kind: DatabaseLocation['kind'];
  readonly journalBytes: number;
  readonly retentionDays: number;
  /** Called with every change: of the state of the database, of the size of the journal, and with each error. */
  readonly onStatus?: ((status: StoreStatus) => void) | undefined;
  /** Called when rows have become durable together. `durationMs`: from the hand-over to the store's thread to its answer. */
  readonly onCommit?:
    | ((commit: { readonly into: 'database' | 'journal'; readonly rows: number; readonly durationMs: number }) => void)
    | undefined;
}

/** The service's end of the connection to the store's thread. */
export interface StoreThread {
  readonly post: (request: StoreRequest) => void;
  readonly listen: (calls: {
    readonly reply: (message: StoreReply) => void;
    readonly failed: (error: Error) => void;
    /** The thread is gone. Called once, as the last one. */
    readonly ended: (code: number) => void;
  }) => void;
}

/** How the ledger is kept small. */
export interface StoreUpkeep {
  readonly journalLimitBytes: number;
  readonly retentionDays: number;
  readonly upkeep: {
    /** When upkeep last had nothing left to do, milliseconds since the Unix epoch. Undefined: not yet. */
    readonly doneAt: number | undefined;
    readonly failures: number;
  };
}

export interface OpenStore extends Store {
  /** Rows settled but not yet durable, for a gauge. */
  readonly waiting: () => number;
  /** The current status, for gauges and readiness. */
  readonly status: () => StoreStatus;
  /**
   * The number of changes to accounts and of batches of settled rows that this process has made or seen. The same number means that
   * none came in between, up to a second ago. Undefined: the database does not report all of them.
   */
  readonly changes: () => number | undefined;
  /** The limit of the journal, the retention, and the results of upkeep, for gauges. */
  readonly upkeep: () => StoreUpkeep;
  /**
   * The secret that all processes with this database share, also after a restart. The first process made it. Until the
   * database has answered once, it is a secret of this process alone, so call this again for each use. Never to be
   * logged.
   */
  readonly secret: () => string;
  /**
   * Begins to write the reservations of this process's requests into the database, at most once a second. Commands that
   * correct a balance read them. Called once.
   */
  readonly reportReserved: (reserved: () => Reserved) => void;
  /** Counts a refused request in the ledger. Waits for nothing. */
  readonly refused: (request: RefusedRequest) => void;
  /** Resolves with the reason if the store ends before `close`: nothing more can be settled, and the process should end. */
  readonly lost: Promise<Error>;
  /** Makes all waiting rows durable, then closes everything. Nothing may be settled or looked up afterwards. */
  readonly close: () => Promise<void>;
}

/** The accounts and the ledger for a service, kept by a thread that was just started. Rejects when the thread cannot open them. */
export async function connectStore(
  thread: StoreThread,
  options: StoreClientOptions,
  time: StoreTime,
): Promise<OpenStore> {
  const { kind, journalBytes: journalLimitBytes, retentionDays } = options;
  const { post, quietMs } = createRequests(thread, time);
  const life = createLifetime(() => post({ kind: 'close' }));
  const { isOpen } = life;
  let facts: StoreFacts = { status: statusAtStart, upkeep: { doneAt: undefined, failures: 0 }, secret: newSecret() };
  let stopReporting: CancelTimer = () => undefined;
  const { count, changes } = createChanges(kind);
  const { queue, acknowledge } = createCommits({ post, time, onCommit: options.onCommit });
  const isDatabaseUp = (): boolean => facts.status.database === 'up';
  const ask = (hash: string): void => post({ kind: 'find', hashes: [hash] });
  const isQuiet = (): boolean => quietMs() >= quietAfterMs;
  const credentials = createCredentials({ kind, time, isOpen, isDatabaseUp, isQuiet, ask });
  const isUp = (): boolean => isOpen() && isDatabaseUp();
  const refusals = createRefusalCounter(time, { isUp, write: (rows) => post({ kind: 'refused', rows }) });

  function take(reply: StoreReply): void {
    count(reply);
    switch (reply.kind) {
      case 'ready':
        life.opened();
        break;
      case 'unusable':
        stop(new Error(reply.message));
        life.close();
        break;
      case 'settled':
      case 'journaled':
        // The balance comes first: requests that `acknowledge` lets continue must see it without this cost.
        credentials.settled(reply);
        acknowledge(reply);
        break;
      case 'secret':
      case 'status':
      case 'upkeep':
        facts = factsAfter(facts, reply, time.now());
        if (reply.kind === 'status') options.onStatus?.(reply.status);
        break;
      case 'found':
      case 'not-searched':
      case 'changed':
      case 'confirmed':
        credentials.take(reply);
        break;
    }
  }

  thread.listen({
    reply: take,
    failed: stop,
    ended: (code) => {
      stop(new Error(`the store's thread ended with code ${code}`));
      stopReading();
      stopReporting();
      life.ended();
    },
  });

  function stop(reason: Error): void {
    const failure = unavailable(reason);
    queue.fail(failure);
    credentials.refuseAll(failure);
    life.fail(reason);
  }

  const stopReading = readAgain(time, {
    // PostgreSQL reports no confirmations, so its keys are read again in time also in quiet.
    waitMs: () => (kind === 'sqlite' && isQuiet() ? readInQuietMs : readAgainEveryMs),
    ...{ isOpen, isDatabaseUp, post, takeOutdated: credentials.takeOutdated },
    isLookDue: () => kind === 'postgres' && quietMs() >= lookEveryMs,
  });

  await life.whenOpen();
  return {
    findCredential: credentials.find,
    settle: queue.add,
    canSettle: () => isOpen() && facts.status.hasRoom && queue.size() < maxWaitingRows / 2,
    ...{ waiting: queue.size, status: () => facts.status, changes },
    upkeep: () => ({ journalLimitBytes, retentionDays, upkeep: facts.upkeep }),
    secret: () => facts.secret,
    reportReserved: (reservedNow) => {
      stopReporting = reportReserved(time, reservedNow, (reserved) => {
        if (isOpen()) post({ kind: 'reserved', reserved });
      });
    },
    refused: refusals.add,
    lost: life.lost,
    close: async () => {
      await queue.drained();
      refusals.close();
      life.close();
      await life.whenEnded;
    },
  };
}

/** Counts the changes of the database that the store's thread reports. */
function createChanges(kind: DatabaseLocation['kind']) {
  let changes = 0;
  return {
    count: (reply: StoreReply): void => {
      if (reply.kind === 'settled' || reply.kind === 'changed') changes += 1;
    },
    // PostgreSQL's notifications get lost in some poolers.
    changes: (): number | undefined => (kind === 'sqlite' ? changes : undefined),
  };
}

interface ReadAgainOptions extends Pick<ReturnType<typeof createCredentials>, 'takeOutdated'> {
  readonly waitMs: () => number;
  readonly isOpen: () => boolean;
  readonly isDatabaseUp: () => boolean;
  /** Whether a query is due that only checks that the database answers. */
  readonly isLookDue: () => boolean;
  readonly post: (request: StoreRequest) => void;
}

/** Asks for outdated keys again and again, until it is stopped. */
function readAgain(time: StoreTime, options: ReadAgainOptions): CancelTimer {
  const { waitMs, isOpen, isDatabaseUp, isLookDue, takeOutdated, post } = options;
  return every(time, waitMs, () => {
    if (!isOpen()) return;
    const hashes = takeOutdated();
    if (hashes.length > 0) post({ kind: isDatabaseUp() ? 'find' : 'find-again', hashes });
    else if (isDatabaseUp() && isLookDue()) post({ kind: 'look' });
  });
}

/** Reports what is reserved as often as it is due, until it is stopped. */
function reportReserved(time: StoreTime, read: () => Reserved, report: (reserved: Reserved) => void): CancelTimer {
  const isDue = createReservationReport();
  return every(time, reportReservedEveryMs, () => {
    const reserved = read();
    if (isDue(reserved, time.elapsed())) report(reserved);
  });
}

/** The life of a store: it opens or cannot, is open, closes, and has ended. */
function createLifetime(postClose: () => void) {
  const ready = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<Error>();
  const ended = Promise.withResolvers<void>();
  let isOpen = true;
  return {
    /** Whether nobody has closed it yet. */
    isOpen: (): boolean => isOpen,
    opened: ready.resolve,
    fail: (reason: Error): void => {
      ready.reject(reason);
      if (isOpen) lost.resolve(reason);
    },
    close: (): void => {
      if (isOpen) postClose();
      isOpen = false;
    },
    ended: ended.resolve,
    /** Rejects when the store has ended without having been opened. */
    whenOpen: async (): Promise<void> => {
      try {
        await ready.promise;
      } catch (error) {
        await ended.promise;
        throw error;
      }
    },
    lost: lost.promise,
    whenEnded: ended.promise,
  };
}

/** Posts requests to the store's thread. `quietMs`: how long ago the last one was. */
function createRequests(thread: StoreThread, time: StoreTime) {
  let postedAt = time.elapsed();
  return {
    post: (request: StoreRequest): void => {
      postedAt = time.elapsed();
      thread.post(request);
    },
    quietMs: (): number => time.elapsed() - postedAt,
  };
}

/** What the store's thread has last reported. */
interface StoreFacts {
  readonly status: StoreStatus;
  readonly upkeep: StoreUpkeep['upkeep'];
  readonly secret: string;
}

function factsAfter(
  facts: StoreFacts,
  reply: Extract<StoreReply, { readonly kind: 'secret' | 'status' | 'upkeep' }>,
  now: number,
): StoreFacts {
  switch (reply.kind) {
    case 'secret':
      return { ...facts, secret: reply.secret };
    case 'status':
      return { ...facts, status: reply.status };
    case 'upkeep': {
      const { doneAt, failures } = facts.upkeep;
      const upkeep = reply.result === 'done' ? { doneAt: now, failures } : { doneAt, failures: failures + 1 };
      return { ...facts, upkeep };
    }
  }
}

const statusAtStart: StoreStatus = {
  database: 'replaying',
  journalBytes: 0,
  journalFault: undefined,
  hasRoom: true,
  reason: undefined,
};

interface CommitsOptions extends Pick<StoreClientOptions, 'onCommit'> {
  readonly post: (request: StoreRequest) => void;
  readonly time: StoreTime;
}

/** The queue of rows, which hands over a batch at a time, and the batch that is under way. */
function createCommits({ post, time, onCommit }: CommitsOptions) {
  let lastSent = 0;
  let sentRows = 0;
  const queue = createSettleQueue({
    send: (outcomes) => {
      lastSent = time.elapsed();
      sentRows = outcomes.length;
      post({ kind: 'settle', outcomes });
    },
    defer: (run) => {
      const leftMs = lastSent + commitEveryMs - time.elapsed();
      if (leftMs > 0) time.after(leftMs, run);
      else time.nextTurn(run);
    },
    maxWaiting: maxWaitingRows,
    maxBatch,
  });
  return {
    queue,
    acknowledge: ({ kind, faults }: Extract<StoreReply, { readonly kind: 'settled' | 'journaled' }>): void => {
      const into = kind === 'settled' ? 'database' : 'journal';
      onCommit?.({ into, rows: sentRows - faults.length, durationMs: time.elapsed() - lastSent });
      queue.acknowledge(faults);
    },
  };
}
