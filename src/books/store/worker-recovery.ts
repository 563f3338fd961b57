import { knownCauseOf } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { findCredentials } from '../accounts/find-credentials.ts';
import { readSharedSecret } from '../accounts/shared-secret.ts';
import { CannotOpen, type OpenDatabase } from '../databases/database.ts';
import { startUpkeep } from '../databases/upkeep-runner.ts';
import { settleOrExplain } from '../ledger/settle-batch.ts';
import { refuseOverdue, settleHeld, tryJournal } from './worker-hold.ts';
import { advance, beginReplay, fateOf, findHashes, type Replay, rowsOf } from './worker-rules.ts';
import { goDown, isQuiet, type LoopContext, setStatus } from './worker-state.ts';

/**
 * One step of a recovery: opens or probes the database, and settles some rows of the journal. When the journal is empty, it
 * settles the rows that are held. When no rows are left, the database is up.
 */
export async function recover(context: LoopContext): Promise<void> {
  const { state, options } = context;
  // SQLite's calls are synchronous, so messages may have arrived meanwhile.
  await options.nextTurn();
  tryJournal(context);
  const database = await connect(context);
  if (database !== undefined) await readAgain(context, database);
  // The rows of the journal are older, and the reply to held rows has balances that must include them.
  const isReachable = database !== undefined && (!options.journal.isEmpty() || (await settleHeld(context, database)));
  refuseOverdue(context);
  if (!isReachable) return;
  try {
    state.replay ??= nextReplay(context);
  } catch (error) {
    // Without the rows of the journal, the balances would be wrong.
    goDown(context, `the journal cannot be read: ${messageOf(error)}`, undefined);
    return;
  }
  if (state.replay === undefined) goUp(context, database);
  else await replaySome(context, database, state.replay);
}

/** Reads keys, and replies with what the database has of them. Rejects if it does not answer. */
export async function readKeys(
  { state, options: { reply, clock } }: LoopContext,
  { queries }: OpenDatabase,
  hashes: readonly string[],
): Promise<void> {
  const { changes } = state;
  const found = await findCredentials(queries, hashes, clock.now());
  const isBehind = state.status.database === 'up' ? {} : { isBehind: true as const };
  reply({ kind: 'found', found: hashes.map((hash) => [hash, found.get(hash)] as const), ...isBehind });
  // The keys may have been read before a change that was reported meanwhile.
  if (state.changes !== changes) reply({ kind: 'changed' });
}

/** A database that stores no bills, such as one on a full disk, may still be read: stopped keys must not work on. */
async function readAgain(context: LoopContext, database: OpenDatabase): Promise<void> {
  const hashes = context.state.again.slice(0, findHashes);
  context.state.again = [];
  try {
    if (hashes.length > 0) await readKeys(context, database, hashes);
  } catch {
    // The next statement of the recovery fails, too, and has the reason.
  }
}

function nextReplay({ options }: LoopContext): Replay | undefined {
  const oldest = options.journal.oldest();
  return oldest && beginReplay(oldest);
}

/** The database, when it answers. Undefined: it is down, or waiting cannot help. */
async function connect(context: LoopContext): Promise<OpenDatabase | undefined> {
  const { state, options } = context;
  try {
    const database = await reach(context);
    if (!state.hasSentSecret) {
      options.reply({ kind: 'secret', secret: await readSharedSecret(database.queries) });
      state.hasSentSecret = true;
    }
    return database;
  } catch (error) {
    if (error instanceof CannotOpen && error.kind !== 'down') {
      state.phase = 'closing';
      options.reply({ kind: 'unusable', message: error.message });
    } else goDown(context, messageOf(error), knownCauseOf(error));
    return undefined;
  }
}

async function reach(context: LoopContext): Promise<OpenDatabase> {
  const {
    state,
    options: { open, reply },
  } = context;
  if (state.database === undefined) {
    const database = await open();
    state.database = database;
    state.watching = database.watch({
      changed: () => {
        state.changes += 1;
        reply({ kind: 'changed' });
      },
      isQuiet: () => isQuiet(context),
      confirmed: () => state.status.database === 'up' && reply({ kind: 'confirmed' }),
    });
    return database;
  }
  if (state.status.database === 'down') await state.database.probe();
  return state.database;
}

function goUp(context: LoopContext, database: OpenDatabase): void {
  const { state, work } = context;
  const { retentionDays, clock, reply } = context.options;
  state.upkeep ??= startUpkeep(database, {
    retentionDays,
    clock,
    // While the database is down, its status has been reported already.
    report: (message) => state.status.database === 'up' && setStatus(context, 'up', { message }),
    wake: () => void work(),
    rested: (result) => reply({ kind: 'upkeep', result }),
  });
  setStatus(context, 'up');
  reply({ kind: 'changed' });
}

async function replaySome(context: LoopContext, database: OpenDatabase, replay: Replay): Promise<void> {
  const { state, options } = context;
  const rows = rowsOf(replay);
  const result = await settleOrExplain(database, rows, options.clock.now());
  if (result.kind === 'down') {
    goDown(context, result.message, result.cause);
    return;
  }
  // Not before: a database that answers and stores nothing would change its state with each attempt.
  setStatus(context, 'replaying');
  for (const { index, message: reason } of result.refused) {
    const message = `the journal's row of ${rows[index]?.requestId} was refused: ${reason}`;
    setStatus(context, 'replaying', { message });
  }
  state.replay = advance(replay, result.refused.length);
  try {
    finish(context, state.replay);
  } catch (error) {
    // Its rows are settled again, and no workspace is charged twice.
    state.replay = undefined;
    goDown(context, `the journal's file ${replay.segment.name} cannot be removed: ${messageOf(error)}`, undefined);
  }
}

/** Removes a file of the journal that is settled, or keeps it under another name. */
function finish(context: LoopContext, replay: Replay): void {
  const { segment } = replay;
  const { journal } = context.options;
  switch (fateOf(replay)) {
    case 'more':
      return;
    case 'remove':
      journal.remove(segment);
      break;
    case 'keep-refused':
      journal.remove(segment, 'refused');
      break;
    case 'keep-damaged':
      journal.remove(segment, 'damaged');
      break;
  }
  if (segment.torn) {
    const message = `the journal's file ${segment.name} ends in a record that is not whole`;
    setStatus(context, 'replaying', { message });
  }
  context.state.replay = undefined;
}
