import { age, condition, type CustomResource, messageOf } from './printer-columns.ts';
import {
  type apiKeyConditionTypes,
  apiKeyStatus,
  type creditConditionTypes,
  creditStatus,
  type workspaceConditionTypes,
  workspaceStatus,
} from './resources/account-status.ts';
import { apiKeySpec, creditSpec, workspaceSpec } from './resources/accounts.ts';

type Meanings<Types extends readonly string[]> = Readonly<Record<Types[number], string>>;

const workspaceConditions: Meanings<typeof workspaceConditionTypes> = {
  Accepted: 'The object is valid, and no other workspace has its name in the ledger.',
  Ready:
    'The ledger has the workspace with the settings of this generation. The message says if it is suspended, and why a deletion waits.',
};

const apiKeyConditions: Meanings<typeof apiKeyConditionTypes> = {
  Accepted: 'The object is valid, and its Workspace is an object of the same namespace.',
  Ready:
    'The Secret has a key, and the ledger has that key with the settings of this generation. The message says if it is suspended or has expired.',
  WithinBudget: 'Something of the budget is left in this period, or there is no budget.',
};

const creditConditions: Meanings<typeof creditConditionTypes> = {
  Accepted:
    'The object is valid, and says what was booked for it. False with the reason BookedOtherwise: a Credit of this name was booked before with other values. It changed no money.',
  Booked: 'The ledger has the credit, once.',
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
    { name: 'Status', type: 'string', description: 'Active or Suspended.', jsonPath: '.spec.status' },
    { name: 'Balance', type: 'string', description: 'Balance, USD.', jsonPath: '.status.balance' },
    { name: 'Month', type: 'string', description: 'Spent this month, USD.', jsonPath: '.status.spentThisMonth' },
    { name: 'Keys', type: 'integer', description: 'Keys that are not revoked.', jsonPath: '.status.keys' },
    condition('Ready', 'Whether the ledger has this version.'),
    condition('Accepted', 'Whether the object makes sense.', 1),
    {
      name: 'Ledger',
      type: 'string',
      description: 'Name in the ledger.',
      jsonPath: '.status.ledgerName',
      priority: 1,
    },
    messageOf('Ready', 'Problem', 'Why it is not ready.'),
    age,
  ],
  selectable: ['.spec.status'],
};

const apiKey: CustomResource = {
  kind: 'ApiKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortNames: ['ak'],
  description: 'A credential of a Workspace, with its limits. The text of the key is in a Secret and nowhere else.',
  spec: apiKeySpec,
  status: apiKeyStatus,
  conditions: apiKeyConditions,
  columns: [
    {
      name: 'Workspace',
      type: 'string',
      description: 'The Workspace that pays.',
      jsonPath: '.spec.workspace',
    },
    { name: 'Prefix', type: 'string', description: 'First characters of the key.', jsonPath: '.status.prefix' },
    { name: 'Budget', type: 'string', description: 'Budget, USD.', jsonPath: '.spec.budget.usd' },
    { name: 'Period', type: 'string', description: 'Period of the budget.', jsonPath: '.spec.budget.period' },
    condition('Ready', 'Whether requests can use the key.'),
    { name: 'Used', type: 'date', description: 'Time since the last request.', jsonPath: '.status.lastUsedAt' },
    condition('Accepted', 'Whether the object makes sense.', 1),
    condition('WithinBudget', 'Whether something of the budget is left.', 1),
    {
      name: 'Secret',
      type: 'string',
      description: 'Name of the Secret.',
      jsonPath: '.spec.secretRef.name',
      priority: 1,
    },
    // A text, because `kubectl` shows a date as the time since then, which means nothing for a future date.
    {
      name: 'Rotates',
      type: 'string',
      description: 'When the key is replaced.',
      jsonPath: '.status.rotatesAt',
      priority: 1,
    },
    messageOf('Ready', 'Problem', 'Why it is not ready.'),
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
    'Money put into a Workspace. It is booked once; changing or deleting the object afterwards changes no money.',
  spec: creditSpec,
  status: creditStatus,
  conditions: creditConditions,
  columns: [
    { name: 'Workspace', type: 'string', description: 'The Workspace that gets it.', jsonPath: '.spec.workspace' },
    { name: 'USD', type: 'string', description: 'Amount of the credit in USD.', jsonPath: '.spec.usd' },
    condition('Booked', 'Whether the ledger has it.'),
    { name: 'Id', type: 'string', description: 'Id in the ledger.', jsonPath: '.status.id' },
    { name: 'Note', type: 'string', description: 'What it is for.', jsonPath: '.spec.note' },
    condition('Accepted', 'Whether the object says what was booked.', 1),
    messageOf('Booked', 'Problem', 'Why it is not booked.'),
    messageOf('Accepted', 'Difference', 'How it differs from what was booked.'),
    age,
  ],
  selectable: ['.spec.workspace'],
};

/** The kinds of accounts: who may use the models, and what they may spend. */
export const accountResources: readonly CustomResource[] = [workspace, apiKey, credit];
