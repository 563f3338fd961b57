import { type DatabaseLocation, openDatabase } from './open-database.ts';
import { createKey, findKey, listKeys, setKeyBudget, setKeyStatus } from './keys.ts';
import { listRequests, usageReport } from './usage-report.ts';
import { verifyLedger } from './verify-ledger.ts';
import { createWorkspace, creditWorkspace, findWorkspace, listWorkspaces, setWorkspaceStatus } from './workspaces.ts';

/** What an operator does with accounts, keys and the ledger. */
export type Accounts = Awaited<ReturnType<typeof openAccounts>>;

/**
 * Opens the accounts in this thread, for commands that do one thing and end; it works beside a running service,
 * which sees the change within a second. A service, which must not wait for the disk, uses `openStore`.
 * Throws a sentence that names the file; each call throws a `Refusal` when it cannot be done as asked.
 */
export async function openAccounts(location: DatabaseLocation) {
  const { queries, close } = await openDatabase(location);
  return {
    createWorkspace: createWorkspace.bind(undefined, queries),
    listWorkspaces: listWorkspaces.bind(undefined, queries),
    findWorkspace: findWorkspace.bind(undefined, queries),
    creditWorkspace: creditWorkspace.bind(undefined, queries),
    setWorkspaceStatus: setWorkspaceStatus.bind(undefined, queries),
    createKey: createKey.bind(undefined, queries),
    listKeys: listKeys.bind(undefined, queries),
    findKey: findKey.bind(undefined, queries),
    setKeyStatus: setKeyStatus.bind(undefined, queries),
    setKeyBudget: setKeyBudget.bind(undefined, queries),
    usageReport: usageReport.bind(undefined, queries),
    listRequests: listRequests.bind(undefined, queries),
    verifyLedger: verifyLedger.bind(undefined, queries),
    close,
  };
}
