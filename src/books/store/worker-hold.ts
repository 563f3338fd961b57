import { knownCauseOf } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import type { OpenDatabase } from '../databases/database.ts';
import { AppendInDoubt } from '../databases/journal/journal.ts';
import { settleOrExplain } from '../ledger/settle-batch.ts';
import { type CheckedBatch, isHoldOver, journaledReply, noRoomReply, settledReply } from './worker-rules.ts';
import { goDown, type LoopContext, setStatus } from './worker-state.ts';

// A batch is held when the journal refuses its rows, and the database or the journal's disk may have them: see
// `HeldBatch`. Its rows can be settled again, because a row that is in the ledger already changes nothing.

/** Why the journal refuses rows. `mayHaveRows`: its disk may keep them. */
interface Refusal {
  readonly message: string;
  readonly mayHaveRows: boolean;
}

/** Appends a batch to the journal, and replies. Returns undefined if the rows are durable. */
export function appendToJournal(context: LoopContext, batch: CheckedBatch): Refusal | undefined {
  const { state, options } = context;
  try {
    options.journal.append(batch.rows);
  } catch (error) {
    return { message: messageOf(error), mayHaveRows: error instanceof AppendInDoubt };
  }
  setStatus(context, state.status.database);
  options.reply(journaledReply(batch));
  return undefined;
}

/** Holds a batch. The database is down, so a recovery follows. */
export function hold({ state, options }: LoopContext, batch: CheckedBatch, message: string): void {
  state.held = { batch, message, since: options.clock.elapsed() };
}

/** Tries the journal again after a fault, and appends the batch that is held as soon as the journal accepts it. */
export function tryJournal(context: LoopContext): void {
  const { state, options } = context;
  const { journal } = options;
  if (journal.fault() !== undefined) journal.tryAgain();
  // An append that fails may leave a file behind, so the trial comes first.
  if (state.held === undefined || journal.fault() !== undefined) return;
  if (appendToJournal(context, state.held.batch) === undefined) state.held = undefined;
}

/** Settles the batch that is held. Returns whether nothing is held any more; otherwise the database is down. */
export async function settleHeld(context: LoopContext, database: OpenDatabase): Promise<boolean> {
  const { state, options } = context;
  const { held } = state;
  if (held === undefined) return true;
  const result = await settleOrExplain(database, held.batch.rows, options.clock.now());
  if (result.kind === 'down') {
    goDown(context, result.message, result.cause);
    return false;
  }
  state.held = undefined;
  // The journal is empty or the store ends, so the balances do no harm. Costs that the first commit has charged are not in this
  // reply. They are read with the `changed` that follows when the database is up.
  options.reply(settledReply(held.batch, result));
  return true;
}

/** Refuses the batch that is held once it has been held for too long. */
export function refuseOverdue(context: LoopContext): void {
  const { held } = context.state;
  if (held !== undefined && isHoldOver(held, context.options.clock.elapsed())) refuse(context);
}

/** Tries once more to make the batch durable that is held, then refuses it. */
export async function endHold(context: LoopContext): Promise<void> {
  const { state } = context;
  if (state.held === undefined) return;
  tryJournal(context);
  if (state.held !== undefined && state.database !== undefined) {
    try {
      await state.database.probe();
      await settleHeld(context, state.database);
    } catch (error) {
      goDown(context, messageOf(error), knownCauseOf(error));
    }
  }
  refuse(context);
}

function refuse(context: LoopContext): void {
  const { state, options } = context;
  const { held } = state;
  if (held === undefined) return;
  state.held = undefined;
  const { batch, message } = held;
  const lost = `${batch.rows.length} requests fail that may be billed: the journal refused them (${message})`;
  // Before the reply, as in `settle`.
  setStatus(context, state.status.database, { message: lost });
  options.reply(noRoomReply(batch, message));
}
