import type { Credential, Store } from '../../core/account.ts';
import { type CancelTimer, every } from '../../core/clock.ts';
import { Failure } from '../../core/failure.ts';
import { createCredentialCache, createLookUps, type Moment, type Remembered } from '../accounts/credential-cache.ts';
import { createReservationReport, type Reserved, reportReservedEveryMs } from '../accounts/reservation-report.ts';
import { newSecret } from '../accounts/shared-secret.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import type { StoreTime } from '../databases/machine.ts';
import { createSettleQueue } from './settle-queue.ts';
import type { StoreReply, StoreRequest, StoreStatus } from './worker-message.ts';

const rememberedKeys = 50_000;
/** Most rows that may wait for the disk: some seconds of a busy service, about 10 MB. */
const maxWaitingRows = 10_000;
const maxBatch = 1_000;
/**
 * Least time between two commits. A commit costs ten times as much as a row in it, so rows of a busy service share
 * commits. A row that arrives alone does not wait. At 4 ms the service completes a quarter fewer non-streaming answers,
 * because each waits for its row.
 */
const commitEveryMs = 2;

/**
 * How long a credential is used after it was read. SQLite reports changes several times a second. PostgreSQL reports
 * them only if no pooler is in between. So keys in use are read again in time, and every change takes effect within a
 * second.
 */
const goodForMs = { sqlite: 5_000, postgres: 800 } as const;
const readAgainEveryMs = 300;
const readAgainAtMost = 5_000;
/** After this time without a query, a query checks that PostgreSQL answers. SQLite needs no such query. */
const lookEveryMs = 5_000;
/** How long a known key works while the database is down. An operator cannot suspend it in that time. */
const awayForMs = 30 * 60_000;

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
  let askedAt = time.elapsed();
  const post = (request: StoreRequest): void => {
    askedAt = time.elapsed();
    thread.post(request);
  };
  const cache = createCredentialCache(rememberedKeys);
  const lookUps = createLookUps((hash) => post({ kind: 'find', hashes: [hash] }));
  const ready = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<Error>();
  const ended = Promise.withResolvers<void>();
  let phase: 'open' | 'closing' = 'open';
  let status: StoreStatus = {
    database: 'replaying',
    journalBytes: 0,
    journalFault: undefined,
    hasRoom: true,
    reason: undefined,
  };
  let lastSent = 0;
  let sentRows = 0;
  let upkeep: StoreUpkeep['upkeep'] = { doneAt: undefined, failures: 0 };
  let stopReporting: CancelTimer = () => undefined;
  let secret = newSecret();
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

  function take(reply: StoreReply): void {
    switch (reply.kind) {
      case 'ready':
        ready.resolve();
        break;
      case 'unusable':
        stop(new Error(reply.message));
        if (phase === 'open') post({ kind: 'close' });
        phase = 'closing';
        break;
      case 'secret':
        secret = reply.secret;
        break;
      // The balance comes first: requests that `acknowledge` lets continue must see it without this cost.
      case 'settled':
        for (const [workspaceId, balance] of reply.balances) cache.setBalance(workspaceId, balance);
        for (const spending of reply.spendings) cache.spend(spending, moment());
        committed('database', reply.faults);
        queue.acknowledge(reply.faults);
        break;
      case 'journaled':
        for (const [workspaceId, cost] of reply.costs) cache.charge(workspaceId, cost);
        for (const spending of reply.spendings) cache.spend(spending, moment());
        committed('journal', reply.faults);
        queue.acknowledge(reply.faults);
        break;
      case 'found':
        for (const [hash, credential] of reply.found) {
          cache.put(hash, credential, moment());
          lookUps.answer(hash, credential);
        }
        break;
      case 'not-searched':
        for (const hash of reply.hashes) notSearched(hash, unavailable(new Error(reply.message)));
        break;
      case 'changed':
        cache.doubt();
        break;
      case 'confirmed':
        cache.confirm(time.elapsed());
        break;
      case 'status':
        status = reply.status;
        options.onStatus?.(status);
        break;
      case 'upkeep':
        upkeep =
          reply.result === 'done' ? { ...upkeep, doneAt: time.now() } : { ...upkeep, failures: upkeep.failures + 1 };
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
      ended.resolve();
    },
  });

  function moment(): Moment {
    return { now: time.now(), elapsed: time.elapsed() };
  }

  function isWithin({ confirmedAt }: Remembered, ms: number): boolean {
    return time.elapsed() - confirmedAt < ms;
  }

  function committed(into: 'database' | 'journal', faults: readonly unknown[]): void {
    options.onCommit?.({ into, rows: sentRows - faults.length, durationMs: time.elapsed() - lastSent });
  }

  function stop(reason: Error): void {
    const failure = unavailable(reason);
    queue.fail(failure);
    lookUps.refuseAll(failure);
    ready.reject(reason);
    if (phase === 'open') lost.resolve(reason);
  }

  /** While the database is down, known keys are good for longer. An unknown key can be neither accepted nor refused. */
  function notSearched(hash: string, failure: Failure): void {
    const known = cache.get(hash, moment());
    if (known?.credential !== undefined && isWithin(known, awayForMs)) lookUps.answer(hash, known.credential);
    else lookUps.refuse(hash, failure);
  }

  function lookUp(hash: string): Promise<Credential | undefined> {
    return phase === 'open' ? lookUps.ask(hash) : Promise.reject(unavailable(new Error('the store is closed')));
  }

  const stopReading = every(time, readAgainEveryMs, () => {
    if (options.kind !== 'postgres' || status.database !== 'up' || phase !== 'open') return;
    const hashes = cache.takeUsed(readAgainAtMost);
    if (hashes.length > 0) post({ kind: 'find', hashes });
    else if (time.elapsed() - askedAt >= lookEveryMs) post({ kind: 'look' });
  });

  try {
    await ready.promise;
  } catch (error) {
    await ended.promise;
    throw error;
  }
  return {
    findCredential: (keyHash) => {
      const known = cache.get(keyHash, moment());
      if (known === undefined) return lookUp(keyHash);
      if (!known.isDoubted && isWithin(known, goodForMs[options.kind])) return known.credential;
      // The database is down, so it is not asked.
      if (status.database !== 'up' && known.credential !== undefined && isWithin(known, awayForMs)) {
        return known.credential;
      }
      return lookUp(keyHash);
    },
    settle: queue.add,
    canSettle: () => phase === 'open' && status.hasRoom && queue.size() < maxWaitingRows / 2,
    waiting: queue.size,
    status: () => status,
    upkeep: () => ({ journalLimitBytes: options.journalBytes, retentionDays: options.retentionDays, upkeep }),
    secret: () => secret,
    reportReserved: (reservedNow) => {
      const isDue = createReservationReport();
      stopReporting = every(time, reportReservedEveryMs, () => {
        const reserved = reservedNow();
        if (phase === 'open' && isDue(reserved, time.elapsed())) post({ kind: 'reserved', reserved });
      });
    },
    lost: lost.promise,
    close: async () => {
      await queue.drained();
      if (phase === 'open') post({ kind: 'close' });
      phase = 'closing';
      await ended.promise;
    },
  };
}

function unavailable(cause: Error): Failure {
  return new Failure('internal', 'The service could not reach its accounts. It is safe to retry.', { cause });
}
