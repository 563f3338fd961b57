import { isDeepStrictEqual } from 'node:util';
import type { CancelTimer } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { checkRequest, type SettledRequest } from '../core/settled-request.ts';
import { CannotOpen, type DatabaseLocation, type OpenDatabase } from './databases/database.ts';
import type { StoreTime } from './databases/machine.ts';
import { findCredentials } from './accounts/find-credentials.ts';
import type { Journal, JournalSegment } from './databases/journal/journal.ts';
import { settleOrExplain, spendingOf } from './ledger/settle-batch.ts';
import type { Reserved } from './accounts/reservation-report.ts';
import { forgetGone, goneAfterMs, writeReservations } from './accounts/reservations.ts';
import { readSharedSecret } from './accounts/shared-secret.ts';
import { startUpkeep, type UpkeepRunner } from './databases/upkeep-runner.ts';
import type { SettleFault, StoreReply, StoreRequest, StoreStatus } from './worker-message.ts';

/** Pause between two attempts to reach a database that is away. */
const retryMs = 250;
/** Rows of the journal that are settled at once; requests that arrived meanwhile come next. */
const replayRows = 1_000;
/** Reasons of one outage that are logged. */
const mostLogged = 100;
/** Hashes that are looked up at once. */
const findHashes = 500;

export interface WorkerLoopOptions {
  readonly location: DatabaseLocation;
  /** Names this process among those that share the database. */
  readonly replica: string;
  readonly open: () => Promise<OpenDatabase>;
  readonly journal: Journal;
  /** Above this size of the journal new requests are to be refused, so that there is room for the rows of those under way. */
  readonly fullBytes: number;
  /** Requests are kept for at least so many days; 0: for good. */
  readonly retentionDays: number;
  readonly reply: (message: StoreReply) => void;
  readonly time: StoreTime;
}

/**
 * The loop in which the store's thread does everything, one thing at a time: a read always sees what was written before, and
 * rows are written in the order in which they came. While the database is away, rows go to the journal; when it is back, the
 * journal is settled first, oldest rows first, and new rows go to its end until it is empty.
 */
export function createWorkerLoop(options: WorkerLoopOptions) {
  const { journal, fullBytes, reply, time } = options;
  let database: OpenDatabase | undefined;
  let watching: { readonly stop: () => Promise<void> } | undefined;
  let upkeep: UpkeepRunner | undefined;
  let status: StoreStatus = {
    database: 'replaying',
    journalBytes: journal.bytes(),
    hasRoom: true,
    journalFault: undefined,
    reason: undefined,
  };
  /** The reasons of the outage that are in the log. */
  const logged = new Set<string>();
  let batch: readonly SettledRequest[] | undefined;
  const wanted = new Set<string>();
  let reserved: Reserved | undefined;
  let hasReserved = false;
  let isLookWanted = false;
  /** When this thread has last removed what replicas left that are gone. */
  let forgotAt = 0;
  let segment: (JournalSegment & { settled: number; refused: number }) | undefined;
  let retry: CancelTimer | undefined;
  let working: Promise<void> | undefined;
  let hasSentSecret = false;
  let closing = false;

  function setStatus(now: StoreStatus['database'], message?: string, reason = status.reason): void {
    const [journalBytes, away] = [journal.bytes(), now === 'down' ? reason : undefined];
    // While the database takes rows, the journal is not needed.
    const journalFault = now === 'up' ? undefined : journal.fault();
    const hasRoom = journalBytes < fullBytes && journalFault === undefined;
    const next = { database: now, journalBytes, journalFault, hasRoom, reason: away };
    if (message === undefined && isDeepStrictEqual(status, next)) return;
    status = next;
    reply({ kind: 'status', status: message === undefined ? status : { ...status, message } });
  }

  /** A reason is for the log once in an outage: with each try another may come, such as by turns those of two servers. */
  function isAway(reason: string): void {
    if (status.database !== 'down') logged.clear();
    const isLogged = logged.has(reason) || logged.size >= mostLogged;
    logged.add(reason);
    setStatus('down', isLogged ? undefined : reason, reason);
    if (closing) return;
    retry ??= time.after(retryMs, () => {
      retry = undefined;
      void work();
    });
  }

  async function settle(outcomes: readonly SettledRequest[]): Promise<void> {
    const faults: SettleFault[] = [];
    const rows: SettledRequest[] = [];
    const indexOf: number[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      try {
        checkRequest(outcome);
        rows.push(outcome);
        indexOf.push(index);
      } catch (error) {
        faults.push({ index, reason: 'refused', message: messageOf(error) });
      }
    }
    if (rows.length === 0) {
      reply({ kind: 'settled', balances: [], spendings: [], faults });
      return;
    }
    if (database !== undefined && status.database === 'up') {
      const result = await settleOrExplain(database, rows);
      if (result.kind === 'settled') {
        const { balances, spendings, refused } = result;
        for (const { index, message } of refused) {
          faults.push({ index: indexOf[index] ?? index, reason: 'refused', message });
        }
        reply({ kind: 'settled', balances, spendings, faults });
        return;
      }
      isAway(result.message);
    }
    keep(rows, { faults, indexOf });
  }

  function keep(
    rows: readonly SettledRequest[],
    { faults, indexOf }: { readonly faults: readonly SettleFault[]; readonly indexOf: readonly number[] },
  ): void {
    try {
      journal.append(rows);
    } catch (error) {
      const message = messageOf(error);
      const noRoom = indexOf.map((index) => ({ index, reason: 'no-room', message }) as const);
      // First, so that no request is let in whose row would be refused, too.
      setStatus(status.database, `the journal: ${message}`);
      reply({ kind: 'settled', balances: [], spendings: [], faults: [...faults, ...noRoom] });
      return;
    }
    const costs = new Map<string, bigint>();
    for (const { workspaceId: id, cost } of rows) costs.set(id, (costs.get(id) ?? 0n) + cost);
    const spendings = spendingOf(rows).map(({ key_id: keyId, day, amount }) => ({ keyId, day: Number(day), amount }));
    setStatus(status.database);
    reply({ kind: 'journaled', costs: [...costs], spendings, faults });
  }

  async function find(): Promise<void> {
    const hashes = [...wanted].slice(0, findHashes);
    for (const hash of hashes) wanted.delete(hash);
    if (database === undefined || status.database !== 'up') {
      // The rows in the journal have been spent, and the database does not know of them yet.
      reply({ kind: 'not-searched', hashes, message: `the database is ${status.database}` });
      return;
    }
    try {
      const found = await findCredentials(database.queries, hashes, time.now());
      reply({ kind: 'found', found: hashes.map((hash) => [hash, found.get(hash)] as const) });
    } catch (error) {
      if (database.classify(error) === 'away') isAway(messageOf(error));
      reply({ kind: 'not-searched', hashes, message: messageOf(error) });
    }
  }

  /** Writes nothing while the database is down: no command can correct a balance then. */
  async function reportReserved(now: Reserved): Promise<void> {
    if (database === undefined || status.database !== 'up') return;
    try {
      const reportedAt = time.now();
      await writeReservations(database.queries, { replica: options.replica, reserved: now, now: reportedAt });
      hasReserved = now.size > 0;
      if (Math.abs(reportedAt - forgotAt) < goneAfterMs) return;
      forgotAt = reportedAt;
      await forgetGone(database.queries, reportedAt);
    } catch (error) {
      if (database.classify(error) === 'away') isAway(messageOf(error));
    }
  }

  /** Without requests nothing else is asked of the database, and an outage would be noticed by the first caller after it. */
  async function look(): Promise<void> {
    if (database === undefined || status.database !== 'up') return;
    try {
      await readSharedSecret(database.queries);
    } catch (error) {
      if (database.classify(error) === 'away') isAway(messageOf(error));
    }
  }

  /** One step of a recovery: opens or probes the database, and settles some rows of the journal. */
  async function comeBack(): Promise<void> {
    // SQLite's calls are synchronous: messages that arrived meanwhile are handled now.
    await new Promise<void>((resolve) => time.nextTurn(resolve));
    if (journal.fault() !== undefined) journal.tryAgain();
    try {
      if (database === undefined) {
        database = await options.open();
        watching = database.watch({
          changed: () => reply({ kind: 'changed' }),
          confirmed: () => status.database === 'up' && reply({ kind: 'confirmed' }),
        });
      } else if (status.database === 'down') await database.probe();
      if (!hasSentSecret) {
        reply({ kind: 'secret', secret: await readSharedSecret(database.queries) });
        hasSentSecret = true;
      }
    } catch (error) {
      if (error instanceof CannotOpen && error.kind !== 'away') {
        closing = true;
        reply({ kind: 'unusable', message: error.message });
      } else isAway(messageOf(error));
      return;
    }
    const next = (segment ??= nextSegment());
    if (next === undefined) {
      upkeep ??= startUpkeep(database, {
        retentionDays: options.retentionDays,
        clock: time,
        // While the database is down, its status says so.
        report: (message) => status.database === 'up' && setStatus('up', message),
        wake: () => void work(),
        rested: (result) => reply({ kind: 'upkeep', result }),
      });
      setStatus('up');
      reply({ kind: 'changed' });
      return;
    }
    setStatus('replaying');
    const rows = next.rows.slice(next.settled, next.settled + replayRows);
    const result = await settleOrExplain(database, rows);
    if (result.kind === 'away') {
      isAway(result.message);
      return;
    }
    next.settled += rows.length;
    next.refused += result.refused.length;
    for (const { index, message } of result.refused) {
      setStatus('replaying', `the journal's row of ${rows[index]?.requestId} was refused: ${message}`);
    }
    if (next.settled >= next.rows.length) finish(next);
  }

  function nextSegment(): typeof segment {
    const oldest = journal.oldest();
    return oldest && { ...oldest, settled: 0, refused: 0 };
  }

  /** Removes a settled file. One that could not be read to its end, or has refused rows, is kept for inspection. */
  function finish(done: NonNullable<typeof segment>): void {
    journal.remove(done, done.refused > 0 ? 'refused' : done.torn ? 'damaged' : undefined);
    if (done.torn) setStatus('replaying', `the journal's file ${done.name} ends in a record that is not whole`);
    segment = undefined;
  }

  async function workOff(): Promise<void> {
    for (;;) {
      const outcomes = batch;
      batch = undefined;
      if (outcomes !== undefined) await settle(outcomes);
      else if (wanted.size > 0) await find();
      else if (reserved !== undefined) {
        const now = reserved;
        reserved = undefined;
        await reportReserved(now);
      } else if (isLookWanted) {
        isLookWanted = false;
        await look();
      } else if (status.database === 'up' && upkeep?.isDue() === true && !closing) await upkeep.step();
      else if (status.database === 'up' || retry !== undefined || closing) return;
      if (status.database !== 'up' && retry === undefined && !closing) await comeBack();
    }
  }

  function work(): Promise<void> {
    working ??= workOff().finally(() => {
      working = undefined;
    });
    return working;
  }

  return {
    /** Opens the database; resolves when it is open, or away for now. */
    start: work,
    take: (request: Exclude<StoreRequest, { readonly kind: 'close' }>): void => {
      switch (request.kind) {
        case 'settle':
          batch = request.outcomes;
          break;
        case 'find':
          for (const hash of request.hashes) wanted.add(hash);
          break;
        case 'reserved':
          reserved = request.reserved;
          break;
        case 'look':
          isLookWanted = true;
          break;
      }
      void work();
    },
    /** Finishes all requests, then closes everything. Rows in the journal stay there. */
    close: async (): Promise<void> => {
      closing = true;
      retry?.();
      retry = undefined;
      // All requests have ended.
      if (hasReserved) reserved = new Map();
      await work();
      await upkeep?.stop();
      await watching?.stop();
      journal.close();
      await database?.close();
    },
  };
}
