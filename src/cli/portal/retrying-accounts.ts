import { DatabaseAway, Refusal } from '../../core/administration.ts';
import { type Clock, waitFor } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { PortalLog } from '../../portal/portal.ts';
import type { PortalStore } from '../../portal/store-port.ts';
import type { Accounts } from '../../store/open-accounts.ts';
import { hashKey, looksLikeKey } from '../../store/accounts/key-text.ts';
import { CannotOpen } from '../../store/databases/database.ts';

/** The part of the store that the portal asks from its own thread; reports have another. */
export type RetryingStore = Omit<PortalStore, 'usageReport' | 'pageOfRequests' | 'findRequest'>;

/** The accounts of a database that may be away, at the start as later. */
export interface RetryingAccounts {
  /** Each call rejects with `DatabaseAway` while the database is. */
  readonly store: RetryingStore;
  /** As `readSharedSecret`. */
  readonly sharedSecret: () => Promise<string>;
  readonly close: () => Promise<void>;
}

interface Surroundings {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: PortalLog;
}

const retryMs = 2_000;

/**
 * Opens the accounts. While the database is away it goes on trying; rejects with a sentence when the first try shows that waiting
 * cannot help. `open` rejects with `CannotOpen`.
 */
export async function openWithRetry(
  open: () => Promise<Accounts>,
  { clock, log }: Surroundings,
): Promise<RetryingAccounts> {
  const closing = new AbortController();
  let accounts: Accounts | undefined;
  let isAway = false;

  /** Logs that the database has gone, once until it is back. */
  function away(error: unknown): DatabaseAway {
    if (!isAway)
      log.warn({ error: messageOf(error) }, 'the database is away: the portal answers with 503 until it is back');
    isAway = true;
    return new DatabaseAway('The database does not answer.', { cause: error });
  }

  function here(): void {
    if (isAway) log.warn({}, 'the database is back');
    isAway = false;
  }

  async function tryToOpen(): Promise<void> {
    accounts = await open();
    here();
  }

  async function goOnTrying(): Promise<void> {
    while (accounts === undefined && !closing.signal.aborted) {
      await waitFor(retryMs, { clock, signal: closing.signal });
      if (!closing.signal.aborted) await tryToOpen().catch(away);
    }
  }

  const calling =
    <Parameters extends readonly unknown[], Result>(
      of: (accounts: Accounts) => (...parameters: Parameters) => Promise<Result>,
    ) =>
    async (...parameters: Parameters): Promise<Result> => {
      if (accounts === undefined) throw away(new Error('it was away when the portal started'));
      try {
        const result = await of(accounts)(...parameters);
        here();
        return result;
      } catch (error) {
        // A refusal is an answer.
        if (error instanceof Refusal || !accounts.isAway(error)) throw error;
        throw away(error);
      }
    };

  try {
    await tryToOpen();
  } catch (error) {
    if (!(error instanceof CannotOpen) || error.kind !== 'away') throw error;
    away(error);
  }
  const trying = goOnTrying();

  return {
    store: {
      probe: calling((of) => of.sharedSecret),
      pageOfWorkspaces: calling((of) => of.pageOfWorkspaces),
      findWorkspace: calling((of) => of.findWorkspace),
      listWorkspaces: calling((of) => of.listWorkspaces),
      createWorkspace: calling((of) => of.createWorkspace),
      changeWorkspace: calling((of) => of.changeWorkspace),
      addCredit: calling((of) => of.addCredit),
      pageOfCredits: calling((of) => of.pageOfCredits),
      pageOfKeys: calling((of) => of.pageOfKeys),
      findKey: calling((of) => of.findKey),
      createKey: calling((of) => of.createKey),
      sharedSecret: calling((of) => of.sharedSecret),
      playgroundKey: calling((of) => of.playgroundKey),
      changeKey: calling((of) => of.changeKey),
      setKeyStatus: calling((of) => of.setKeyStatus),
      spentBy: calling((of) => of.spentBy),
      keyNames: calling((of) => of.keyNames),
      findCredential: calling((of) => async (text: string, now: number) => {
        if (!looksLikeKey(text)) return undefined;
        const hash = hashKey(text);
        return (await of.findCredentials([hash], now)).get(hash);
      }),
      listAudit: calling((of) => of.listAudit),
      createSession: calling((of) => of.createSession),
      findSessions: calling((of) => of.findSessions),
      endSession: calling((of) => of.endSession),
    },
    sharedSecret: calling((of) => of.sharedSecret),
    close: async () => {
      closing.abort();
      await trying;
      await accounts?.close();
    },
  };
}
