import { messageOf } from '../../core/failure.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import type { Reserved } from '../accounts/reservation-report.ts';
import { forgetGone, writeReservations } from '../accounts/reservations.ts';
import { readSharedSecret } from '../accounts/shared-secret.ts';
import type { RefusalRow } from '../core/refusal.ts';
import { writeRefusals } from '../ledger/refusals.ts';
import { settleOrExplain } from '../ledger/settle-batch.ts';
import { appendToJournal, endHold, hold } from './worker-hold.ts';
import type { StoreRequest } from './worker-message.ts';
import { readKeys, recover } from './worker-recovery.ts';
import {
  checkBatch,
  isForgetDue,
  mustRecover,
  nextWork,
  noRoomReply,
  type Readiness,
  settledReply,
  type Work,
} from './worker-rules.ts';
import {
  databaseIfUp,
  goDown,
  isQuiet,
  type LoopContext,
  type LoopState,
  newState,
  setStatus,
  statementFailed,
  type WorkerLoopOptions,
} from './worker-state.ts';

/**
 * The loop in which the store's thread does everything, one thing at a time: a read always sees what was written
 * before, and rows are written in the order of their arrival. While the database is down, rows go to the journal. When
 * it is up again, the journal is settled first, oldest rows first, and new rows go to its end until it is empty. Rows
 * that the journal refuses, and that the database or the journal's disk may have, are held for a while (`worker-hold.ts`).
 */
export function createWorkerLoop(options: WorkerLoopOptions) {
  const state = newState(options.journal);
  const context: LoopContext = { options, state, work };

  async function workOff(): Promise<void> {
    // `work` sets `working` before the first step.
    await Promise.resolve();
    try {
      for (;;) {
        const next = nextWork(state.waiting, readinessOf(state));
        if (next.kind === 'rest') return;
        await perform(context, next);
        if (next.kind !== 'recover' && mustRecover(readinessOf(state))) await recover(context);
      }
    } finally {
      // Cleared at once, because a later call of `work` may have work that this loop has not seen.
      state.working = undefined;
    }
  }

  function work(): Promise<void> {
    state.working ??= workOff();
    return state.working;
  }

  return {
    /** Opens the database. Resolves when it is open, or down for now. */
    start: work,
    take: (request: Exclude<StoreRequest, { readonly kind: 'close' }>): void => {
      const wasQuiet = isQuiet(context);
      state.tookAt = options.clock.elapsed();
      if (wasQuiet) state.watching?.wake?.();
      add(state, request);
      void work();
    },
    /** Finishes all requests, then closes everything. Rows in the journal stay there. */
    close: async (): Promise<void> => {
      state.phase = 'closing';
      state.cancelRetry?.();
      state.cancelRetry = undefined;
      // All requests have ended.
      if (state.hasReserved) state.waiting.reserved = new Map();
      await work();
      await endHold(context);
      await state.upkeep?.stop();
      await state.watching?.stop();
      options.journal.close();
      await state.database?.close();
    },
  };
}

function readinessOf({ phase, cancelRetry, status, upkeep }: LoopState): Readiness {
  return {
    phase,
    database: status.database,
    isRetryArmed: cancelRetry !== undefined,
    isUpkeepDue: upkeep?.isDue() === true,
  };
}

function add(state: LoopState, request: Exclude<StoreRequest, { readonly kind: 'close' }>): void {
  const { waiting } = state;
  switch (request.kind) {
    case 'settle':
      waiting.batch = request.outcomes;
      break;
    case 'find':
      for (const hash of request.hashes) waiting.hashes.add(hash);
      break;
    case 'find-again':
      state.again = request.hashes;
      break;
    case 'reserved':
      waiting.reserved = request.reserved;
      break;
    case 'refused':
      waiting.refused = [...waiting.refused, ...request.rows];
      break;
    case 'look':
      waiting.isLookWanted = true;
      break;
  }
}

/** Removes the next work from the work that waits, and does it. */
async function perform(context: LoopContext, next: Exclude<Work, { readonly kind: 'rest' }>): Promise<void> {
  const { waiting, upkeep } = context.state;
  switch (next.kind) {
    case 'settle':
      waiting.batch = undefined;
      return settle(context, next.outcomes);
    case 'find':
      for (const hash of next.hashes) waiting.hashes.delete(hash);
      return find(context, next.hashes);
    case 'report-reserved':
      waiting.reserved = undefined;
      return reportReserved(context, next.reserved);
    case 'look':
      waiting.isLookWanted = false;
      return look(context);
    case 'count-refused':
      waiting.refused = [];
      return countRefused(context, next.rows);
    case 'upkeep':
      return upkeep?.step();
    case 'recover':
      return recover(context);
  }
}

async function settle(context: LoopContext, outcomes: readonly SettledRequest[]): Promise<void> {
  const { state, options } = context;
  const { reply, clock } = options;
  const batch = checkBatch(outcomes);
  if (batch.rows.length === 0) {
    reply(settledReply(batch, { balances: [], spendings: [], refused: [] }));
    return;
  }
  const database = databaseIfUp(context);
  let mayHaveRows = false;
  if (database !== undefined) {
    const result = await settleOrExplain(database, batch.rows, clock.now());
    if (result.kind === 'settled') {
      reply(settledReply(batch, result));
      return;
    }
    mayHaveRows = result.mayHaveRows;
    goDown(context, result.message, result.cause);
  }
  const refusal = appendToJournal(context, batch);
  if (refusal === undefined) return;
  // The status is reported first, so that no request is accepted whose row would be refused, too.
  setStatus(context, state.status.database, { message: `the journal: ${refusal.message}` });
  if (mayHaveRows || refusal.mayHaveRows) hold(context, batch, refusal.message);
  else reply(noRoomReply(batch, refusal.message));
}

async function find(context: LoopContext, hashes: readonly string[]): Promise<void> {
  const { reply } = context.options;
  const database = databaseIfUp(context);
  if (database === undefined) {
    reply({ kind: 'not-searched', hashes, message: `the database is ${context.state.status.database}` });
    return;
  }
  try {
    await readKeys(context, database, hashes);
  } catch (error) {
    statementFailed(context, database, error);
    reply({ kind: 'not-searched', hashes, message: messageOf(error) });
  }
}

/** Writes nothing while the database is down: no command can correct a balance then. */
async function reportReserved(context: LoopContext, reserved: Reserved): Promise<void> {
  const { state, options } = context;
  const database = databaseIfUp(context);
  if (database === undefined) return;
  try {
    const now = options.clock.now();
    await writeReservations(database.queries, { replica: options.replica, reserved, now });
    state.hasReserved = reserved.size > 0;
    if (!isForgetDue(now, state.forgotAt)) return;
    state.forgotAt = now;
    await forgetGone(database.queries, now);
  } catch (error) {
    statementFailed(context, database, error);
  }
}

/**
 * Adds to the counts of refused requests, in a statement of its own: it can delay or fail no settlement. After a
 * failure the rows are dropped, because the database may have them, and a count must not have a request twice.
 */
async function countRefused(context: LoopContext, rows: readonly RefusalRow[]): Promise<void> {
  const database = databaseIfUp(context);
  if (database === undefined) return;
  try {
    await writeRefusals(database.queries, rows);
  } catch (error) {
    statementFailed(context, database, error);
  }
}

/** Notices an outage while there are no requests. Otherwise the first request after it would notice it. */
async function look(context: LoopContext): Promise<void> {
  const database = databaseIfUp(context);
  if (database === undefined) return;
  try {
    await readSharedSecret(database.queries);
  } catch (error) {
    statementFailed(context, database, error);
  }
}
