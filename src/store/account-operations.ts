import type { Kysely } from 'kysely';
import * as audit from './accounts/audit.ts';
import * as credits from './accounts/credits.ts';
import * as credentials from './accounts/find-credentials.ts';
import * as keys from './accounts/keys.ts';
import * as playground from './accounts/playground-keys.ts';
import * as sessionRows from './accounts/sessions.ts';
import * as secrets from './accounts/shared-secret.ts';
import * as workspaces from './accounts/workspaces.ts';
import type { Schema } from './databases/schema.ts';
import * as kept from './ledger/kept-since.ts';
import * as requests from './ledger/list-requests.ts';
import * as usage from './ledger/usage-report.ts';
import * as books from './ledger/verify-ledger.ts';

// The one list of operations on accounts and the ledger. An operation is a function of the database and its own arguments. The opened
// accounts, the wrapper of the portal, the questions to the thread of reports and the type of the portal's store are derived from here.

/** Services keep what these change in memory, so running services are notified after each. */
export const changes = {
  createWorkspace: workspaces.createWorkspace,
  changeWorkspace: workspaces.changeWorkspace,
  setWorkspaceStatus: workspaces.setWorkspaceStatus,
  setWorkspaceLimits: workspaces.setWorkspaceLimits,
  creditWorkspace: credits.creditWorkspace,
  addCredit: credits.addCredit,
  createKey: keys.createKey,
  changeKey: keys.changeKey,
  setKeyStatus: keys.setKeyStatus,
  setKeyBudget: keys.setKeyBudget,
  setKeyLimits: keys.setKeyLimits,
  updateKey: keys.updateKey,
  playgroundKey: playground.playgroundKey,
};

/** No service reads sessions: portals read them for each request. */
export const sessions = {
  createSession: sessionRows.createSession,
  findSessions: sessionRows.findSessions,
  endSession: sessionRows.endSession,
};

export const reads = {
  listWorkspaces: workspaces.listWorkspaces,
  pageOfWorkspaces: workspaces.pageOfWorkspaces,
  findWorkspace: workspaces.findWorkspace,
  workspaceNames: workspaces.workspaceNames,
  pageOfCredits: credits.pageOfCredits,
  listKeys: keys.listKeys,
  pageOfKeys: keys.pageOfKeys,
  findKey: keys.findKey,
  keyNames: keys.keyNames,
  spentBy: credentials.spentBy,
  findCredential: credentials.findCredential,
  listAudit: audit.listAudit,
  keptSince: kept.keptSince,
  sharedSecret: secrets.readSharedSecret,
};

/** These may take seconds. SQLite blocks its thread meanwhile, so the portal runs them in a thread of their own. */
export const reports = {
  usageReport: usage.usageReport,
  listRequests: requests.listRequests,
  pageOfRequests: requests.pageOfRequests,
  findRequest: requests.findRequest,
  verifyLedger: books.verifyLedger,
};

const table = { ...changes, ...sessions, ...reads, ...reports };

export type OperationName = keyof typeof table;
export type ReportName = keyof typeof reports;

/** The arguments of each operation, without the database. */
export type OperationArguments = {
  readonly [Name in OperationName]: Parameters<(typeof table)[Name]> extends [unknown, ...infer Given] ? Given : never;
};

export type OperationResults = {
  readonly [Name in OperationName]: Awaited<ReturnType<(typeof table)[Name]>>;
};

/** Operations on one database. */
export type AccountOperations<Some extends OperationName = OperationName> = {
  readonly [Name in Some]: (...given: OperationArguments[Name]) => Promise<OperationResults[Name]>;
};

/** Each operation as a function of the database. */
export const operations: {
  readonly [Name in OperationName]: (
    queries: Kysely<Schema>,
    ...given: OperationArguments[Name]
  ) => Promise<OperationResults[Name]>;
} = table;

/** Makes the operations of a group from one function that runs an operation by its name. */
export function operationsOf<Some extends OperationName>(
  group: Readonly<Record<Some, unknown>>,
  run: <Name extends Some>(name: Name, given: OperationArguments[Name]) => Promise<OperationResults[Name]>,
): AccountOperations<Some> {
  const made: Record<string, unknown> = {};
  for (const name in group) made[name] = (...given: OperationArguments[typeof name]) => run(name, given);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the loop has made a function for each name of the group.
  return made as AccountOperations<Some>;
}
