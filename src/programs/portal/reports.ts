import { type AccountOperations, type ReportName, reports } from '../../books/store/account-operations.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';

/** Longest time of a report; a report over many years takes seconds. */
const silenceMs = 60_000;
/** The thread ends after an hour without a report, so that a person who returns after lunch does not wait for its start. */
const idleMs = 60 * 60_000;

/**
 * Reads reports in a thread of its own: SQLite would block the event loop of the portal during a report, and with it the heartbeats of
 * all event streams.
 */
export function openReports(location: DatabaseLocation): {
  readonly store: AccountOperations<ReportName>;
  /** Starts the thread, so that the first page does not wait for it. */
  readonly warm: () => void;
  readonly close: () => Promise<void>;
} {
  const { store, close } = openAccountsThread(location, reports, { name: 'weir-reports', silenceMs, idleMs });
  return { store, warm: () => void store.findRequest('').catch(() => undefined), close };
}
