import type { Kysely } from 'kysely';
import * as figures from '../accounts/account-figures.ts';
import * as alerts from '../accounts/alerts.ts';
import * as audit from '../accounts/audit.ts';
import * as billed from '../accounts/billed-prices.ts';
import * as avoidable from '../accounts/avoidable-limits.ts';
import * as declarations from '../accounts/declarations.ts';
import * as declaredKeys from '../accounts/declared-keys.ts';
import * as declaredWorkspaces from '../accounts/declared-workspaces.ts';
import * as keyChanges from '../accounts/change-keys.ts';
import * as credits from '../accounts/credits.ts';
import * as credentials from '../accounts/find-credentials.ts';
import * as identities from '../accounts/identities.ts';
import * as identityAccounts from '../accounts/identity-accounts.ts';
import * as keys from '../accounts/keys.ts';
import * as localUsers from '../accounts/local-users.ts';
import * as members from '../accounts/members.ts';
import * as prices from '../accounts/model-prices.ts';
import * as money from '../accounts/money-figures.ts';
import * as playground from '../accounts/playground-keys.ts';
import * as sessionRows from '../accounts/sessions.ts';
import * as rotation from '../accounts/rotate-key.ts';
import * as secrets from '../accounts/shared-secret.ts';
import * as serviceAccounts from '../accounts/service-accounts.ts';
import * as tagBudgets from '../accounts/tag-budgets.ts';
import * as thresholds from '../accounts/thresholds.ts';
import * as vectors from '../accounts/vector-references.ts';
import * as workspaces from '../accounts/workspaces.ts';
import type { Schema } from '../databases/schema.ts';
import * as kept from '../ledger/kept-since.ts';
import * as requests from '../ledger/list-requests.ts';
import * as history from '../ledger/model-history.ts';
import * as focus from '../ledger/focus-day.ts';
import * as focusOfLate from '../ledger/focus-late.ts';
import * as refusals from '../ledger/refusals.ts';
import * as statements from '../ledger/statements.ts';
import * as usage from '../ledger/usage-report.ts';
import * as books from '../ledger/verify-ledger.ts';
import * as messages from '../outbox/next-messages.ts';
import * as subscriptions from '../outbox/subscriptions.ts';

// The one list of operations on accounts and the ledger. An operation is a function of the database and its own
// arguments. The opened accounts, the wrapper of the portal, the messages to the thread of reports and the type of the
// portal's store are derived from this list.

/** Services keep accounts in memory. So running services are notified after each of these operations. */
export const changes = {
  createWorkspace: workspaces.createWorkspace,
  changeWorkspace: workspaces.changeWorkspace,
  creditWorkspace: credits.creditWorkspace,
  addCredit: credits.addCredit,
  createKey: keys.createKey,
  changeKey: keyChanges.changeKey,
  rotateKey: rotation.rotateKey,
  playgroundKey: playground.playgroundKey,
  setWorkspaceThresholds: thresholds.setWorkspaceThresholds,
  setKeyThresholds: thresholds.setKeyThresholds,
  setTagBudget: tagBudgets.setTagBudget,
  createIdentity: identities.createIdentity,
  changeIdentity: identities.changeIdentity,
};

/** The operations of the controller of accounts: what objects declare. Running services are notified, too. */
export const declared = {
  declareWorkspace: declaredWorkspaces.declareWorkspace,
  leaveWorkspace: declaredWorkspaces.leaveWorkspace,
  bookCredit: declaredWorkspaces.bookCredit,
  leaveCredit: declaredWorkspaces.leaveCredit,
  declaredWorkspace: declaredWorkspaces.declaredWorkspace,
  prepareKey: declaredKeys.prepareKey,
  declareKey: declaredKeys.declareKey,
  leaveKeys: declaredKeys.leaveKeys,
  declareIdentity: identities.declareIdentity,
  leaveIdentity: identities.leaveIdentity,
  unlockAbsent: declarations.unlockAbsent,
  accountFigures: figures.accountFigures,
};

/** The operations of a service on thresholds that are reached, on limits that do not hold, and on events that it sends. They change no account. */
export const sending = {
  recordReached: alerts.recordReached,
  avoidableLimits: avoidable.avoidableLimits,
  closeMonths: statements.closeMonths,
  keepSubscriptions: subscriptions.keepSubscriptions,
  nextMessages: messages.nextMessages,
  endMessages: subscriptions.endMessages,
  waitingEvents: subscriptions.waitingEvents,
  leaveSubscriptions: subscriptions.leaveSubscriptions,
};

/** The operations of a service on the identities of tokens. */
export const identifying = {
  openIdentityAccount: identityAccounts.openIdentityAccount,
};

/** The operations of a service on the vectors that its embedding models must make. */
export const comparing = {
  readVectorReferences: vectors.readVectorReferences,
  keepVectorReference: vectors.keepVectorReference,
  retainVectorReferences: vectors.retainVectorReferences,
};

/** No service reads sessions, members and service accounts: portals read them for each request. */
export const sessions = {
  createSession: sessionRows.createSession,
  findSessions: sessionRows.findSessions,
  endSession: sessionRows.endSession,
  recordRefusedSignIn: sessionRows.recordRefusedSignIn,
  inviteMember: members.inviteMember,
  setMemberRole: members.setMemberRole,
  removeMember: members.removeMember,
  listMembers: members.listMembers,
  invitedRoles: members.invitedRoles,
  inviteUser: localUsers.inviteUser,
  acceptInvitation: localUsers.acceptInvitation,
  findUser: localUsers.findUser,
  listUsers: localUsers.listUsers,
  hasUsers: localUsers.hasUsers,
  removeUser: localUsers.removeUser,
  createServiceAccount: serviceAccounts.createServiceAccount,
  revokeServiceAccount: serviceAccounts.revokeServiceAccount,
  listServiceAccounts: serviceAccounts.listServiceAccounts,
  findServiceAccount: serviceAccounts.findServiceAccount,
};

/** Operations whose records change no account. */
export const records = {
  replayEvents: subscriptions.replayEvents,
  recordModelPrices: prices.recordModelPrices,
  acceptVectors: vectors.acceptVectors,
};

export const reads = {
  listWorkspaces: workspaces.listWorkspaces,
  pageOfWorkspaces: workspaces.pageOfWorkspaces,
  findWorkspace: workspaces.findWorkspace,
  workspaceNames: workspaces.workspaceNames,
  pageOfCredits: credits.pageOfCredits,
  listKeys: keys.listKeys,
  pageOfKeys: keys.pageOfKeys,
  accountsOfIdentity: keys.accountsOfIdentity,
  findKey: keys.findKey,
  keyNames: keys.keyNames,
  keyLabels: keys.keyLabels,
  keyMakers: keys.keyMakers,
  spentBy: credentials.spentBy,
  spentKeys: credentials.spentKeys,
  findCredential: credentials.findCredential,
  declarationsOf: declarations.declarationsOf,
  listAudit: audit.listAudit,
  listAlerts: alerts.listAlerts,
  ownThresholds: thresholds.ownThresholds,
  listTagBudgets: tagBudgets.listTagBudgets,
  listTagNames: tagBudgets.listTagNames,
  listIdentities: identities.listIdentities,
  findIdentity: identities.findIdentity,
  keptSince: kept.keptSince,
  billedPrices: billed.billedPrices,
  sharedSecret: secrets.readSharedSecret,
  listVectorReferences: vectors.listVectorReferences,
};

/** These operations may take seconds. SQLite blocks its thread meanwhile, so the portal runs them in a thread of their own. */
export const reports = {
  usageReport: usage.usageReport,
  listRequests: requests.listRequests,
  pageOfRequests: requests.pageOfRequests,
  findRequest: requests.findRequest,
  pageOfRefusals: refusals.pageOfRefusals,
  findRefusals: refusals.findRefusals,
  verifyLedger: books.verifyLedger,
  moneyFigures: money.moneyFigures,
  modelHistory: history.modelHistory,
  statement: statements.statement,
  focusDay: focus.focusDay,
  focusLate: focusOfLate.focusLate,
};

const table = {
  ...changes,
  ...declared,
  ...sending,
  ...identifying,
  ...comparing,
  ...sessions,
  ...records,
  ...reads,
  ...reports,
};

export type OperationName = keyof typeof table;
export type ReportName = keyof typeof reports;
export type DeclaredName = keyof typeof declared;
/** The operations of people: all but those of the controller and of services. */
export type PeoplesName = Exclude<
  OperationName,
  DeclaredName | keyof typeof sending | keyof typeof identifying | keyof typeof comparing
>;

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
