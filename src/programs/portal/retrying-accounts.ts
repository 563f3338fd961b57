import { Refusal } from '../../books/core/operator-refusals.ts';
import { DatabaseDown } from '../../books/core/administration.ts';
import { type Clock, waitFor } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { PortalLog } from '../../portal/portal.ts';
import { type AccountOperations, changes, reads, records, sessions } from '../../books/store/account-operations.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { CannotOpen } from '../../books/databases/database.ts';
import { operationsOf } from '../../books/store/operation-names.ts';

interface Surroundings {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: PortalLog;
}

const retryMs = 2_000;

/**
 * The accounts of a database that may be down, at the start or later.
 * Opens the accounts, and tries again while the database is down. Rejects with a sentence if the first attempt shows
 * that waiting cannot help. `open` rejects with `CannotOpen`.
 */
export async function openWithRetry(open: () => Promise<Accounts>, { clock, log }: Surroundings) {
  const closing = new AbortController();
  let accounts: Accounts | undefined;
  let isDown = false;

  /** Logs once in an outage that the database is down. */
  function down(error: unknown): DatabaseDown {
    if (!isDown) log.warn({ error: messageOf(error) }, 'database unreachable: answering with 503');
    isDown = true;
    return new DatabaseDown('The database does not answer.', { cause: error });
  }

  function up(): void {
    if (isDown) log.warn({}, 'database reachable');
    isDown = false;
  }

  async function tryToOpen(): Promise<void> {
    accounts = await open();
    up();
  }

  async function goOnTrying(): Promise<void> {
    while (accounts === undefined && !closing.signal.aborted) {
      await waitFor(retryMs, { clock, signal: closing.signal });
      if (!closing.signal.aborted) await tryToOpen().catch(down);
    }
  }

  const store = operationsOf({ ...changes, ...sessions, ...records, ...reads }, async (name, given) => {
    if (accounts === undefined) throw down(new Error('it was down when the portal started'));
    const opened: AccountOperations = accounts;
    try {
      const result = await opened[name](...given);
      up();
      return result;
    } catch (error) {
      // A refusal is an answer of the database, not an outage.
      if (error instanceof Refusal || !accounts.isDown(error)) throw error;
      throw down(error);
    }
  });

  try {
    await tryToOpen();
  } catch (error) {
    if (!(error instanceof CannotOpen) || error.kind !== 'down') throw error;
    down(error);
  }
  const trying = goOnTrying();

  return {
    /** Each operation rejects with `DatabaseDown` while the database is down. */
    store,
    close: async (): Promise<void> => {
      closing.abort();
      await trying;
      await accounts?.close();
    },
  };
}
