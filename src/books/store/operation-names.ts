import type {
  AccountOperations,
  comparing,
  declared,
  identifying,
  OperationArguments,
  OperationName,
  OperationResults,
  sending,
} from './account-operations.ts';

// Operations by their names, without their code. A service runs operations in threads of their own. If its main thread
// imported `account-operations.ts`, it would load all SQL: 300 modules, a quarter of the processor time of its start.

/** The names of `sending`. */
export const eventOperations = {
  recordReached: true,
  avoidableLimits: true,
  closeMonths: true,
  keepSubscriptions: true,
  nextMessages: true,
  endMessages: true,
  waitingEvents: true,
  leaveSubscriptions: true,
} as const satisfies Record<keyof typeof sending, true>;

/** Operations that a service needs for the tokens of identities. */
export const identityOperations = {
  listIdentities: true,
  openIdentityAccount: true,
} as const satisfies Record<keyof typeof identifying | 'listIdentities', true>;

/** The names of `comparing`. */
export const vectorOperations = {
  readVectorReferences: true,
  keepVectorReference: true,
  retainVectorReferences: true,
} as const satisfies Record<keyof typeof comparing, true>;

/** The names of `declared`. */
export const declaredOperations = {
  declareWorkspace: true,
  leaveWorkspace: true,
  bookCredit: true,
  leaveCredit: true,
  declaredWorkspace: true,
  prepareKey: true,
  declareKey: true,
  leaveKeys: true,
  declareIdentity: true,
  leaveIdentity: true,
  unlockAbsent: true,
  accountFigures: true,
} as const satisfies Record<keyof typeof declared, true>;

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
