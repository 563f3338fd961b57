import { age, column, condition, type CustomResource, messageOf } from './printer-columns.ts';
import {
  type apiKeyConditionTypes,
  apiKeyStatus,
  type creditConditionTypes,
  creditStatus,
  type identityConditionTypes,
  identityStatus,
  type workspaceConditionTypes,
  workspaceStatus,
} from '../../src/control/catalog/resources/account-status.ts';
import { apiKeySpec, creditSpec, identitySpec, workspaceSpec } from '../../src/control/catalog/resources/accounts.ts';

type Meanings<Types extends readonly string[]> = Readonly<Record<Types[number], string>>;

const workspaceConditions: Meanings<typeof workspaceConditionTypes> = {
  Accepted: 'The object is valid, and no other workspace has its name in the ledger.',
  Ready:
    'The ledger contains the workspace with this generation’s settings. The message shows whether it is suspended, and why a deletion waits.',
};

const apiKeyConditions: Meanings<typeof apiKeyConditionTypes> = {
  Accepted: 'The object is valid, and its Workspace is an object of the same namespace.',
  Ready:
    'The Secret contains a key, and the ledger contains it with this generation’s settings. The message shows whether it is suspended or has expired.',
  WithinBudget: 'The budget of this period is not used up, or there is no budget.',
};

const creditConditions: Meanings<typeof creditConditionTypes> = {
  Accepted:
    'The object is valid, and matches its booking. False with the reason BookedOtherwise: an earlier Credit of this name was booked with other values. No money changed.',
  Booked: 'The ledger has the credit, once.',
};

const identityConditions: Meanings<typeof identityConditionTypes> = {
  Accepted:
    'The object is valid, its expressions can be compiled, its Workspace is an object of the same namespace, and no other identity has its name in the ledger.',
  Ready:
    'Weir accepts matching tokens, with this generation’s settings. The message shows whether the identity is suspended. False: Weir cannot verify its tokens, for the named reason ([causes](../how-to/identities.md#refused-tokens)).',
};

const workspace: CustomResource = {
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  shortNames: ['ws'],
  description: 'An account that pays for the requests of its keys from one balance. The balance is the ledger’s.',
  spec: workspaceSpec,
  status: workspaceStatus,
  conditions: workspaceConditions,
  columns: [
    column('Status', '.spec.status', 'Active or Suspended.'),
    column('Balance', '.status.balance', 'Balance, USD.'),
    column('Month', '.status.spentThisMonth', 'Spent this month, USD.'),
    column('Keys', '.status.keys', 'Keys that are not revoked.', { type: 'integer' }),
    condition('Ready', 'Whether the ledger contains this version.'),
    condition('Accepted', 'Whether the object is valid.', 1),
    column('Ledger', '.status.ledgerName', 'Name in the ledger.', { priority: 1 }),
    messageOf('Ready', 'Problem', 'Reason why it is not ready.'),
    age,
  ],
  selectable: ['.spec.status'],
};

const apiKey: CustomResource = {
  kind: 'ApiKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortNames: ['ak'],
  description: 'A credential of a Workspace, with its limits. Only a Secret contains the key’s text.',
  spec: apiKeySpec,
  status: apiKeyStatus,
  conditions: apiKeyConditions,
  columns: [
    column('Workspace', '.spec.workspace', 'The Workspace that pays.'),
    column('Prefix', '.status.prefix', 'First characters of the key.'),
    column('Budget', '.spec.budget.usd', 'Budget, USD.'),
    column('Period', '.spec.budget.period', 'Period of the budget.'),
    condition('Ready', 'Whether requests can use the key.'),
    column('Used', '.status.lastUsedAt', 'Time since the start of the last settled request.', { type: 'date' }),
    condition('Accepted', 'Whether the object is valid.', 1),
    condition('WithinBudget', 'Whether the budget is not used up.', 1),
    column('Secret', '.spec.secretRef.name', 'Name of the Secret.', { priority: 1 }),
    // A text, because `kubectl` shows a date as the time since then, which means nothing for a future date.
    column('Rotates', '.status.rotatesAt', 'When the key is replaced.', { priority: 1 }),
    messageOf('Ready', 'Problem', 'Reason why it is not ready.'),
    age,
  ],
  selectable: ['.spec.workspace', '.spec.secretRef.name'],
};

const credit: CustomResource = {
  kind: 'Credit',
  plural: 'credits',
  singular: 'credit',
  shortNames: ['cred'],
  description:
    'Money put into a Workspace. Weir books it once: changing or deleting the object later changes no money.',
  spec: creditSpec,
  status: creditStatus,
  conditions: creditConditions,
  columns: [
    column('Workspace', '.spec.workspace', 'The Workspace that gets it.'),
    column('USD', '.spec.usd', 'Amount of the credit in USD.'),
    condition('Booked', 'Whether the ledger has it.'),
    column('Id', '.status.id', 'Id in the ledger.'),
    column('Note', '.spec.note', 'Its purpose.'),
    condition('Accepted', 'Whether the object matches its booking.', 1),
    messageOf('Booked', 'Problem', 'Why it is not booked.'),
    messageOf('Accepted', 'Difference', 'How the object differs from its booking.'),
    age,
  ],
  selectable: ['.spec.workspace'],
};

const identity: CustomResource = {
  kind: 'Identity',
  plural: 'identities',
  singular: 'identity',
  shortNames: ['ident'],
  description: 'Joins tokens of an issuer to a Workspace, with limits, so that callers need no key.',
  spec: identitySpec,
  status: identityStatus,
  conditions: identityConditions,
  columns: [
    column('Workspace', '.spec.workspace', 'The Workspace that pays; empty: a claim names it.'),
    column('Issuer', '.spec.issuer', 'Issuer of the tokens.'),
    column('Audience', '.spec.audience', 'Audience of the tokens.'),
    column('Each', '.spec.each', 'Whether each subject has the limits, or all share them.'),
    column('Budget', '.spec.budget.usd', 'Budget, USD.'),
    column('Period', '.spec.budget.period', 'Period of the budget.'),
    condition('Ready', 'Whether its tokens are accepted.'),
    condition('Accepted', 'Whether the object is valid.', 1),
    column('Claim', '.spec.workspaceClaim', 'The claim that names the Workspace.', { priority: 1 }),
    column('Ledger', '.status.ledgerName', 'Name in the ledger.', { priority: 1 }),
    messageOf('Accepted', 'Problem', 'Why it is not accepted.'),
    age,
  ],
  selectable: ['.spec.workspace', '.spec.issuer'],
};

/** The kinds of accounts: who may use the models, and what they may spend. */
export const accountResources: readonly CustomResource[] = [workspace, apiKey, credit, identity];
