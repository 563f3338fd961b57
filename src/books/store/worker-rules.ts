import type { DependencyCause } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { checkRequest, type SettledRequest } from '../../core/settled-request.ts';
import type { RefusalRow } from '../core/refusal.ts';
import type { Reserved } from '../accounts/reservation-report.ts';
import { goneAfterMs } from '../accounts/reservations.ts';
import type { JournalSegment } from '../databases/journal/journal.ts';
import { type RefusedRow, type Settled, spendingsOf } from '../ledger/settle-batch.ts';
import type { SettleFault, StoreReply, StoreStatus } from './worker-message.ts';

// The rules of `createWorkerLoop`: functions of their arguments alone.

/** Rows of the journal that are settled at once. Requests that arrived meanwhile come next. */
export const replayRows = 1_000;
/** Most reasons of one outage that are logged. */
export const maxLogged = 100;
/** Most hashes that are looked up at once. */
export const findHashes = 500;
/**
 * How long rows are held that the journal refuses, and that may be billed nevertheless. A server restarts or fails over in this
 * time. Requests wait for their rows, and load balancers usually end a connection that is silent for a minute.
 */
export const holdMs = 30_000;

/** The requests to the thread that it has not done yet. */
export interface WaitingWork {
  readonly batch: readonly SettledRequest[] | undefined;
  readonly hashes: ReadonlySet<string>;
  readonly reserved: Reserved | undefined;
  readonly refused: readonly RefusalRow[];
  readonly isLookWanted: boolean;
}

export type Work =
  | { readonly kind: 'settle'; readonly outcomes: readonly SettledRequest[] }
  | { readonly kind: 'find'; readonly hashes: readonly string[] }
  | { readonly kind: 'report-reserved'; readonly reserved: Reserved }
  | { readonly kind: 'look' }
  | { readonly kind: 'count-refused'; readonly rows: readonly RefusalRow[] }
  | { readonly kind: 'upkeep' }
  /** One step of a recovery: open or probe the database, and settle some rows of the journal. */
  | { readonly kind: 'recover' }
  | { readonly kind: 'rest' };

export interface Readiness {
  readonly phase: 'open' | 'closing';
  readonly database: StoreStatus['database'];
  /** A timer will start the next attempt to reach the database. */
  readonly isRetryArmed: boolean;
  readonly isUpkeepDue: boolean;
}

/** Requests come first. Upkeep needs a database that is up. A recovery needs a database that is not up. */
export function nextWork(waiting: WaitingWork, state: Readiness): Work {
  if (waiting.batch !== undefined) return { kind: 'settle', outcomes: waiting.batch };
  if (waiting.hashes.size > 0) return { kind: 'find', hashes: [...waiting.hashes].slice(0, findHashes) };
  if (waiting.reserved !== undefined) return { kind: 'report-reserved', reserved: waiting.reserved };
  if (waiting.isLookWanted) return { kind: 'look' };
  if (waiting.refused.length > 0) return { kind: 'count-refused', rows: waiting.refused };
  if (state.isUpkeepDue && state.database === 'up' && state.phase === 'open') return { kind: 'upkeep' };
  return mustRecover(state) ? { kind: 'recover' } : { kind: 'rest' };
}

/** Whether a step of a recovery is due. The loop also asks after each request, so that many requests do not delay a recovery. */
export function mustRecover({ phase, database, isRetryArmed }: Omit<Readiness, 'isUpkeepDue'>): boolean {
  return database !== 'up' && !isRetryArmed && phase === 'open';
}

/**
 * The status for a state of the database, without a message. A database that is up stores the rows, so a fault of the
 * journal does not count.
 */
export function statusOf(
  database: StoreStatus['database'],
  {
    journal,
    fullBytes,
    reason,
    cause,
  }: {
    readonly journal: { readonly bytes: number; readonly fault: string | undefined };
    readonly fullBytes: number;
    readonly reason: string | undefined;
    readonly cause?: DependencyCause | undefined;
  },
): StoreStatus {
  const journalFault = database === 'up' ? undefined : journal.fault;
  return {
    database,
    journalBytes: journal.bytes,
    journalFault,
    hasRoom: journal.bytes < fullBytes && journalFault === undefined,
    reason: database === 'down' ? reason : undefined,
    cause: database === 'down' ? cause : undefined,
  };
}

/**
 * Adds a reason to those of the outage. A reason is logged once in an outage: attempts may fail with several reasons in
 * turn, for example with two servers.
 */
export function addReason(
  logged: ReadonlySet<string>,
  reason: string,
): { readonly logged: ReadonlySet<string>; readonly isNew: boolean } {
  const isNew = !logged.has(reason) && logged.size < maxLogged;
  return { logged: isNew ? new Set([...logged, reason]) : logged, isNew };
}

/** A batch without the rows that can never be written. */
export interface CheckedBatch {
  readonly rows: readonly SettledRequest[];
  /** The index of each row in the batch. */
  readonly indexOf: readonly number[];
  /** The faults of the rows that were removed. */
  readonly faults: readonly SettleFault[];
}

export function checkBatch(outcomes: readonly SettledRequest[]): CheckedBatch {
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
  return { rows, indexOf, faults };
}

/** The reply when the database has the rows, except for those that it refused. */
export function settledReply(
  { faults, indexOf }: CheckedBatch,
  { balances, spendings, refused }: Settled & { readonly refused: readonly RefusedRow[] },
): StoreReply {
  const refusals = refused.map(({ index, message }): SettleFault => ({
    index: indexOf[index] ?? index,
    reason: 'refused',
    message,
  }));
  return { kind: 'settled', balances, spendings, faults: [...faults, ...refusals] };
}

/** The reply when the rows are in the journal. It contains their costs, because the balances are in a database that is not up. */
export function journaledReply({ rows, faults }: CheckedBatch): StoreReply {
  const costs = new Map<string, bigint>();
  for (const { workspaceId: id, cost } of rows) costs.set(id, (costs.get(id) ?? 0n) + cost);
  return { kind: 'journaled', costs: [...costs], spendings: spendingsOf(rows), faults };
}

/** The reply when neither the database nor the journal accepts the rows. */
export function noRoomReply({ indexOf, faults }: CheckedBatch, message: string): StoreReply {
  const noRoom = indexOf.map((index): SettleFault => ({ index, reason: 'no-room', message }));
  return { kind: 'settled', balances: [], spendings: [], faults: [...faults, ...noRoom] };
}

/**
 * A batch that the journal has refused, and that the database or the journal's disk may have. A refusal of its rows could
 * bill requests whose callers got an error, so there is no reply yet.
 */
export interface HeldBatch {
  readonly batch: CheckedBatch;
  /** Why the journal has refused the rows. */
  readonly message: string;
  /** Monotonic milliseconds. */
  readonly since: number;
}

/** Whether a batch has been held for too long, at a monotonic moment. */
export function isHoldOver({ since }: Pick<HeldBatch, 'since'>, elapsed: number): boolean {
  return elapsed - since >= holdMs;
}

/** How far a file of the journal has been settled. */
export interface Replay {
  readonly segment: JournalSegment;
  readonly settled: number;
  /** How many of these rows the database refused for good. */
  readonly refused: number;
}

export function beginReplay(segment: JournalSegment): Replay {
  return { segment, settled: 0, refused: 0 };
}

/** The next rows to settle, oldest first. */
export function rowsOf({ segment, settled }: Replay): readonly SettledRequest[] {
  return segment.rows.slice(settled, settled + replayRows);
}

/** The replay after the rows of `rowsOf` were settled. */
export function advance(replay: Replay, refused: number): Replay {
  return { ...replay, settled: replay.settled + rowsOf(replay).length, refused: replay.refused + refused };
}

/**
 * What to do with the file: it has `more` rows, or it is removed. A file with refused rows, or with an end that could
 * not be read, is kept for inspection.
 */
export function fateOf({ segment, settled, refused }: Replay): 'more' | 'remove' | 'keep-refused' | 'keep-damaged' {
  if (settled < segment.rows.length) return 'more';
  if (refused > 0) return 'keep-refused';
  return segment.torn ? 'keep-damaged' : 'remove';
}

/** Whether reservations of replicas that are gone should be removed again. A clock that was set back does not delay that. */
export function isForgetDue(now: number, forgotAt: number): boolean {
  return Math.abs(now - forgotAt) >= goneAfterMs;
}
