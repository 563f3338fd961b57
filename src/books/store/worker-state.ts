import { isDeepStrictEqual } from 'node:util';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import { type DependencyCause, knownCauseOf } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import type { RefusalRow } from '../core/refusal.ts';
import type { Reserved } from '../accounts/reservation-report.ts';
import type { OpenDatabase } from '../databases/database.ts';
import type { Journal } from '../databases/journal/journal.ts';
import type { UpkeepRunner } from '../databases/upkeep-runner.ts';
import type { StoreReply, StoreStatus } from './worker-message.ts';
import { addReason, type HeldBatch, type Replay, statusOf } from './worker-rules.ts';

/** Pause between two attempts to reach a database that is down. */
const retryMs = 250;
/** Without a request for this time, the store is quiet. Longer than a client believes it (`quietAfterMs` of connect-store.ts). */
const quietAfterMs = 7_000;

export const isQuiet = ({ state, options }: LoopContext): boolean =>
  options.clock.elapsed() - state.tookAt >= quietAfterMs;

export interface WorkerLoopOptions {
  /** Names this process among those that share the database. */
  readonly replica: string;
  readonly open: () => Promise<OpenDatabase>;
  readonly journal: Journal;
  /** Above this size of the journal new requests are refused, so that rows of requests under way have room. */
  readonly fullBytes: number;
  /** Requests are kept for at least so many days; 0: for good. */
  readonly retentionDays: number;
  readonly reply: (message: StoreReply) => void;
  readonly clock: Clock;
  /** Resolves when the loop has received the messages that have arrived. */
  readonly nextTurn: () => Promise<void>;
}

/** The state of the loop. Only the functions of the loop change it. */
export interface LoopState {
  phase: 'open' | 'closing';
  /** Undefined until it was opened for the first time. */
  database: OpenDatabase | undefined;
  watching: ReturnType<OpenDatabase['watch']> | undefined;
  /** When the last request came. */
  tookAt: number;
  /** How many changes by other processes were reported. */
  changes: number;
  upkeep: UpkeepRunner | undefined;
  status: StoreStatus;
  /** The reasons of the outage that are in the log. */
  loggedReasons: ReadonlySet<string>;
  /** Set while a timer will start the next attempt to reach the database. */
  cancelRetry: CancelTimer | undefined;
  /** Set while the batch under way is held. The status is not `up` then. */
  held: HeldBatch | undefined;
  /** The file of the journal that is being settled. */
  replay: Replay | undefined;
  /** Like `WaitingWork`, but the loop changes it. */
  readonly waiting: {
    batch: readonly SettledRequest[] | undefined;
    readonly hashes: Set<string>;
    reserved: Reserved | undefined;
    refused: readonly RefusalRow[];
    isLookWanted: boolean;
  };
  /** Remembered keys to read again when the database answers, though it is not up. */
  again: readonly string[];
  /** Whether the database has reservations of this process. */
  hasReserved: boolean;
  /** When this thread last removed reservations of replicas that are gone. */
  forgotAt: number;
  hasSentSecret: boolean;
  /** Set while the loop runs. */
  working: Promise<void> | undefined;
}

/** The state, and what the parts of the loop share. */
export interface LoopContext {
  readonly options: WorkerLoopOptions;
  readonly state: LoopState;
  /** Runs the loop, unless it runs. Resolves when nothing is left to do for now. */
  readonly work: () => Promise<void>;
}

export function newState(journal: Journal): LoopState {
  return {
    phase: 'open',
    database: undefined,
    watching: undefined,
    tookAt: -Infinity,
    changes: 0,
    upkeep: undefined,
    status: {
      database: 'replaying',
      journalBytes: journal.bytes(),
      hasRoom: true,
      journalFault: undefined,
      reason: undefined,
    },
    loggedReasons: new Set(),
    cancelRetry: undefined,
    held: undefined,
    replay: undefined,
    waiting: { batch: undefined, hashes: new Set(), reserved: undefined, refused: [], isLookWanted: false },
    again: [],
    hasReserved: false,
    forgotAt: 0,
    hasSentSecret: false,
    working: undefined,
  };
}

type Failed = Pick<StoreStatus, 'reason' | 'cause'>;

/** Reports the status if it has changed, and always with a message. */
export function setStatus(
  { state, options: { journal, fullBytes, reply } }: LoopContext,
  database: StoreStatus['database'],
  { message, failure = state.status }: { readonly message?: string | undefined; readonly failure?: Failed } = {},
): void {
  const { reason, cause } = failure;
  const facts = { journal: { bytes: journal.bytes(), fault: journal.fault() }, fullBytes, reason, cause };
  const next = statusOf(database, facts);
  if (message === undefined && isDeepStrictEqual(state.status, next)) return;
  state.status = next;
  reply({ kind: 'status', status: message === undefined ? next : { ...next, message } });
}

/** Reports that the database is down, and arms the next attempt to reach it. */
export function goDown(context: LoopContext, reason: string, cause: DependencyCause | undefined): void {
  const { state, options, work } = context;
  const earlier = state.status.database === 'down' ? state.loggedReasons : new Set<string>();
  const { logged, isNew } = addReason(earlier, reason);
  state.loggedReasons = logged;
  setStatus(context, 'down', { message: isNew ? reason : undefined, failure: { reason, cause } });
  if (state.phase === 'closing') return;
  state.cancelRetry ??= options.clock.after(retryMs, () => {
    state.cancelRetry = undefined;
    void work();
  });
}

/**
 * The database, if it accepts statements. The balances of a database that is `replaying` do not include the rows of the
 * journal yet.
 */
export function databaseIfUp({ state }: LoopContext): OpenDatabase | undefined {
  return state.status.database === 'up' ? state.database : undefined;
}

/** After a statement has failed: reports it if the database is down. */
export function statementFailed(context: LoopContext, database: OpenDatabase, error: unknown): void {
  if (database.classify(error) === 'down') goDown(context, messageOf(error), knownCauseOf(error));
}
