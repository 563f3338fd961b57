import type { AccountFields, AccountValues } from './account-field.ts';
import { defaultThresholds, type Thresholds } from './alert.ts';
import type { RefusedFor } from './event.ts';
import { defaultLimits, dryLimits, listBounds } from './limits.ts';
import type { Money } from './money.ts';
import type { SettledRequest } from './settled-request.ts';
import type { CountedTags } from './tags.ts';

export const accountStatuses = ['active', 'suspended'] as const;
export type AccountStatus = (typeof accountStatuses)[number];
export const keyStatuses = [...accountStatuses, 'revoked'] as const;
export type KeyStatus = (typeof keyStatuses)[number];
export const budgetPeriods = ['day', 'week', 'month', 'total'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

export const maxLabels = 16;

/** A limit in tokens a minute (docs/reference/limits.md). */
const tokensPerMinute = {
  name: 'tokens_per_minute',
  kind: 'count',
  optional: true,
  about: 'Tokens a minute, of prompts and answers together; null: no limit.',
  example: 100_000,
  option: 'tokens a minute, of prompts and answers together',
  declared: { about: 'Tokens a minute, of prompts and answers together. Default: no limit.', example: 100_000 },
} as const;

/** A dry run of limits (docs/reference/limits.md). */
const notEnforced = {
  name: 'not_enforced',
  kind: 'names',
  optional: true,
  about: 'Limits that only count, and mark the requests that they would refuse; null: all are enforced.',
  option: 'dry-run limits, separated by commas',
} as const;
const notEnforcedAbout =
  'Dry-run limits: they count, and mark the requests that they would refuse. Default: Weir enforces all limits.';

/** The fields of a workspace that people set. A new one goes to the end. */
export const workspaceFields = {
  status: {
    name: 'status',
    kind: 'name',
    names: accountStatuses,
    setBy: 'change',
    about: 'A suspended workspace gets 403.',
    declared: { about: 'Suspended: all requests of its keys get 403. Default Active.', example: 'Suspended' },
  },
  maxInFlight: {
    name: 'max_in_flight',
    kind: 'count',
    default: defaultLimits.maxInFlight,
    action: 'workspace.limits',
    about: 'Maximum number of in-flight requests.',
    example: 256,
    option: 'maximum number of in-flight requests',
    declared: {
      about: `Maximum number of in-flight requests. Default ${defaultLimits.maxInFlight}.`,
      example: 256,
    },
  },
  /** Post-paid: how far the balance may be below zero for a new request. */
  creditLimit: {
    name: 'credit_limit',
    kind: 'money',
    optional: true,
    default: 0n,
    action: 'workspace.limits',
    right: 'balance:change',
    shown: 'How far the balance may be below zero for a new request (post-paid).',
    given: 'How far it may owe, USD.',
    option: 'how far the balance may go below zero (post-paid)',
    declared: {
      about:
        'Post-paid: maximum amount below zero of its balance, a decimal in USD in quotes. Default "0": requests need a balance above zero.',
      example: '500',
    },
  },
  thresholds: {
    name: 'thresholds',
    kind: 'thresholds',
    optional: true,
    setBy: 'object',
    declared: {
      about: `Percentages of the balance after its last credit at which there is an alert, each from 1 to 100, at most ${listBounds.maxThresholds}. Empty: no alerts. Default: ${defaultThresholds.join(', ')}.`,
      example: [75, 90],
    },
  },
  labels: {
    name: 'labels',
    kind: 'labels',
    optional: true,
    action: 'workspace.labels',
    shown: 'Labels, such as a cost centre; null: none.',
    option: 'labels such as cost-centre=42, with commas; "": none',
    declared: {
      about: `Labels for people and their tools, at most ${maxLabels}. Statements and the admin API show them. Default: none.`,
      example: { team: 'search' },
    },
  },
  tokensPerMinute: { ...tokensPerMinute, action: 'workspace.limits' },
  tagTokensPerMinute: {
    name: 'tag_tokens_per_minute',
    kind: 'tag-counts',
    optional: true,
    action: 'workspace.limits',
    about: 'Tokens a minute of the requests with a tag, by tag; null: no limit. The new list replaces the old one.',
    option:
      'tokens a minute for requests with a tag, such as team=search:60000; the list, separated by commas, replaces the old one',
    declared: {
      about: `Tokens a minute of the requests with a tag, by tag, at most ${listBounds.maxTagLimits}. Default: no limit.`,
      example: { 'team=search': 60_000 },
    },
  },
  notEnforced: {
    ...notEnforced,
    names: dryLimits.ofWorkspace,
    action: 'workspace.limits',
    declared: { about: notEnforcedAbout, example: ['workspace-tokens'] },
  },
} as const satisfies AccountFields;
export type WorkspaceFields = typeof workspaceFields;

/** A customer that pays for its keys' requests from one balance. */
export interface Workspace extends AccountValues<WorkspaceFields> {
  readonly id: string;
  readonly name: string;
  readonly balance: Money;
}

/** The fields of a key that people set. Its object has rate, budget and thresholds in groups. */
export const keyFields = {
  name: {
    name: 'name',
    kind: 'text',
    maxLength: 100,
    optional: true,
    about: 'Purpose, one line.',
    example: 'CI of the web team',
    action: 'key.update',
  },
  /** Callers suspend and activate a key. Its revocation has a route of its own. */
  status: {
    name: 'status',
    kind: 'name',
    names: keyStatuses,
    setBy: 'change',
    declared: { about: 'Suspended: requests with the key get 403. Default Active.', example: 'Suspended' },
  },
  budget: {
    name: 'budget',
    kind: 'budget',
    names: budgetPeriods,
    optional: true,
    shown: 'Spending limit of a period.',
    action: 'key.budget',
  },
  /** Of the budget. */
  thresholds: { name: 'thresholds', kind: 'thresholds', optional: true, setBy: 'change' },
  /** Sustained requests per second and burst. */
  rate: {
    name: 'rate',
    kind: 'count',
    default: defaultLimits.rate,
    about: 'Sustained requests per second.',
    example: 100,
    option: 'sustained requests per second',
    action: 'key.limits',
  },
  burst: {
    name: 'burst',
    kind: 'count',
    default: defaultLimits.burst,
    about: 'Requests at once above the rate.',
    example: 200,
    option: 'burst above the rate',
    action: 'key.limits',
  },
  tokensPerMinute: { ...tokensPerMinute, action: 'key.limits' },
  notEnforced: {
    ...notEnforced,
    names: dryLimits.ofKey,
    action: 'key.limits',
    declared: { about: notEnforcedAbout, example: ['tokens'] },
  },
  /** The key is good until this moment. Absent: for good. */
  expiresAt: {
    name: 'expires_at',
    kind: 'moment',
    optional: true,
    declared: { about: 'Expiry: later requests get 401. Default: never.', example: '2027-06-30T00:00:00Z' },
    action: 'key.update',
  },
  /** Absent: every model. */
  models: {
    name: 'models',
    kind: 'models',
    optional: true,
    shown: 'Models that it may call; null: every model.',
    declared: {
      about: `Models that the key can call, by id and not by alias, at most ${listBounds.maxKeyModels}. Default: every model.`,
      example: ['qwen/*'],
    },
    action: 'key.update',
  },
} as const satisfies AccountFields;
export type KeyFields = typeof keyFields;

/** A credential of a workspace. Only the SHA-256 of its text is stored. */
export interface Key extends AccountValues<KeyFields> {
  readonly id: string;
  readonly workspaceId: string;
}

/** A budget of a tag: what may be spent in a period on the requests of a workspace that have it. */
export interface TagBudget {
  /** `team=search` */
  readonly tag: string;
  readonly limit: Money;
  readonly period: BudgetPeriod;
  /** Settled in the current period. Like `Credential.spent`, it may lack the last second of other replicas. */
  readonly spent: Money;
}

export const tagBudgetFields = {
  budget: { name: 'budget', kind: 'budget', names: budgetPeriods },
} as const satisfies AccountFields;

/** The budget of a tag (`team=search`) in a workspace, and what was spent of it in its current period. */
export interface TagBudgetRecord {
  readonly tag: string;
  readonly budget: NonNullable<Key['budget']>;
  readonly spent: Money;
  readonly thresholds: Thresholds;
}

/** The facts that the store has about a presented key. */
export interface Credential {
  readonly key: Key;
  readonly workspace: Workspace;
  /**
   * The amount settled with the key in the current period of its budget (`periodStart` of
   * src/books/core/budget-period.ts), for requests that started in that period. Settlements of other replicas can
   * be up to a second late. 0 when a period begins, and for a key without a budget.
   */
  readonly spent: Money;
  /** The budgets of the workspace's tags, by tag. Later settlements change the map. Absent: none. */
  readonly tagBudgets?: ReadonlyMap<string, TagBudget> | undefined;
  /** Which tags do not count as `other`. Absent: nothing that has a budget counts as `other`. */
  readonly countedTags?: CountedTags | undefined;
}

/** When the output of an answer was delivered, for measuring. Times are milliseconds since the request, not rounded. */
export interface OutputTiming {
  /** Delivered output tokens, without reasoning that the engine counts but does not send. */
  readonly tokens: number;
  /** How many of these tokens the first delivery had. One token is counted for each of the engine's own deltas. */
  readonly tokensAtFirst: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** How a request ended: all facts for billing and telemetry. The ledger keeps only the fields of `SettledRequest`. */
export interface Outcome extends SettledRequest {
  /**
   * Absent when nothing was delivered, and when several choices were generated side by side: their common pace is not
   * that of one answer.
   */
  readonly output?: OutputTiming | undefined;
  /** Why the request failed, if the routes that were called gave a reason. */
  readonly refusedFor?: RefusedFor | undefined;
}

/** Whether the request has anything to count. `countedBy` means nothing for a request that no engine answered. */
export function isCounted({ kind, usage }: Pick<SettledRequest, 'kind' | 'usage'>): boolean {
  return kind === 'completed' || usage.promptTokens + usage.completionTokens + (usage.webSearches ?? 0) > 0;
}

/** `down`: rows go to the journal. `replaying`: the database answers again, and the rows of the journal come first. */
export type DatabaseState = 'up' | 'replaying' | 'down';

/** The accounts and the ledger, as the pipeline uses them. Every call is asynchronous and never blocks the event loop. */
export interface Store {
  /**
   * Finds the credential for the SHA-256 (lowercase hex) of a key's text; undefined when there is none. Answers from
   * memory when it can; a change by another process is visible within a second. While the database is down, known keys
   * are still found for a limited time. The search for any other key then rejects with a `Failure` (503) and never
   * resolves to undefined.
   */
  readonly findCredential: (keyHash: string) => Credential | undefined | Promise<Credential | undefined>;
  /**
   * Writes one ledger row and subtracts its cost from the balance and the budget, once per request id. Resolves when
   * the row is durable: in the database, or in the journal while the database is down.
   */
  readonly settle: (outcome: Outcome) => Promise<void>;
  /**
   * Whether a request that begins now can be settled when it ends. If not (the journal is full, or too many rows wait),
   * admission answers 503 before dispatch. Answers from memory.
   */
  readonly canSettle: () => boolean;
}
