import type { Money } from './money.ts';
import { hasToken, minuteBucket, type RateStatus } from './token-bucket.ts';

/** Limits of a key and of a workspace for which nothing else was set. */
export const defaultLimits = { rate: 100, burst: 200, maxInFlight: 256 } as const;

/** Bounds of the lists that a tenant can make longer. The store enforces those that it keeps, whatever adds an entry. */
export const listBounds = {
  /** Workspaces that the objects of a namespace have declared, with those whose object is gone. */
  maxWorkspaces: 1_000,
  /** Budgets of tags of a workspace. */
  maxTagBudgets: 100,
  /** Tags of a workspace with a limit in tokens. */
  maxTagLimits: 100,
  /** Keys of a workspace that are neither revoked nor expired, without those of the portal's playground. */
  maxKeys: 10_000,
  /** Members of a workspace, with open invitations. */
  maxMembers: 1_000,
  /** Service accounts that are neither revoked nor expired, and the workspaces of one. */
  maxServiceAccounts: 1_000,
  maxLocalUsers: 1_000,
  maxServiceAccountWorkspaces: 100,
  /** Identities that are not revoked. Each token of their issuers is compared with them. */
  maxIdentities: 100,
  /** Open sessions of a key, or of a person who is no admin, at the portal. Beyond it, the oldest end. */
  maxSessions: 100,
  /** Webhooks of a workspace in a UTC day that tell of one threshold each. Those of further thresholds are collected. */
  maxAlertMessages: 20,
  /** Thresholds of a budget or a balance. */
  maxThresholds: 10,
  /** Patterns of the models of a key: few enough to compare one by one for each request. */
  maxKeyModels: 100,
  maxRequestTags: 4,
  /**
   * Tag names of a workspace, and values of one name, that requests can add. They bound the rollups. Replicas that add
   * tags at the same moment can pass a bound by what one commit of each adds.
   */
  maxTagNames: 20,
  maxTagValues: 500,
} as const;

/** What may still be spent. The amounts reserved for requests under way are not subtracted yet. */
export interface Funds {
  readonly balance: Money;
  /** The amount that is left of the key's budget in its period. Undefined: the key has no budget. */
  readonly budget?: Money | undefined;
  /** The same of those of the request's tags that have a budget. Absent: none has. */
  readonly tags?: readonly TagFunds[] | undefined;
}

export interface TagFunds {
  /** `team=search` */
  readonly tag: string;
  readonly left: Money;
}

/** A budget that a request counts against, as the limits know it. */
export interface BudgetFunds {
  /** `key:ID` or `tag:WORKSPACE:team=search`, unique. */
  readonly id: string;
  readonly shortage: Exclude<Shortage, 'balance'>;
  /** Undefined: the key has no budget at present. */
  readonly left: Money | undefined;
}

/** The budgets of a request: the key's, then those of its tags. */
export function budgetsOf(
  { keyId, workspaceId }: Pick<LimitsAsk, 'keyId' | 'workspaceId'>,
  funds: Funds,
): readonly BudgetFunds[] {
  const ofKey = { id: `key:${keyId}`, shortage: 'budget', left: funds.budget } as const;
  if (funds.tags === undefined) return [ofKey];
  const ofTags = funds.tags.map(
    ({ tag, left }) => ({ id: `tag:${workspaceId}:${tag}`, shortage: 'tag-budget', left }) as const,
  );
  return [ofKey, ...ofTags];
}

/** The limits that one request is checked against. */
export interface LimitsAsk {
  readonly keyId: string;
  readonly workspaceId: string;
  /** Sustained requests per second of the key. `burst`: most requests at once. */
  readonly rate: number;
  readonly burst: number;
  /** Requests that the workspace may have under way. */
  readonly maxInFlight: number;
  readonly funds: Funds;
  /** Limits in tokens a minute, of the key, its workspace and tags of the request. Absent: there are none. */
  readonly tokens?: readonly TokenLimit[] | undefined;
  /** Limits that only count: the request passes them, with a mark. Absent: none. */
  readonly notEnforced?: readonly LimitName[] | undefined;
  /** The request costs nothing: no fund refuses it. */
  readonly isFree?: true | undefined;
}

/** A limit in tokens a minute, prompt and output together, that a request counts against. */
export interface TokenLimit {
  /** `key:ID`, `ws:ID` or `tag:WORKSPACE:team=search`, unique. */
  readonly id: string;
  readonly by: TokenLimitName;
  readonly perMinute: number;
}

/** The requests in progress when a request is checked. */
export interface UnderWay {
  /** Time until the key's bucket is full, milliseconds. */
  readonly fullInMs: number;
  /** Requests of the workspace in progress, and the amount reserved for them: their expected cost. */
  readonly inFlight: number;
  readonly reserved: Money;
  /** The amount reserved for the requests under way of a budget, by its id. */
  readonly budgetReserved: (id: string) => Money;
  /** Time until the bucket of a limit in tokens is full, milliseconds. */
  readonly tokensFullInMs: (limit: TokenLimit) => number;
}

/** Which fund is exhausted. `budget`: that of the key. */
export const shortages = ['balance', 'budget', 'tag-budget'] as const;
export type Shortage = (typeof shortages)[number];

/** Whose tokens of this minute are used up. `tokens`: those of the key. */
export const tokenLimitNames = ['tokens', 'workspace-tokens', 'tag-tokens'] as const;
export type TokenLimitName = (typeof tokenLimitNames)[number];

/** The limits of a key, and of a workspace, that need not be enforced. A balance always is: it is money. */
export const dryLimits = {
  ofKey: ['rate', 'tokens', 'budget'],
  ofWorkspace: ['concurrency', 'workspace-tokens', 'tag-tokens', 'tag-budget'],
} as const satisfies Record<string, readonly LimitName[]>;

export const limitNames = ['rate', 'concurrency', ...tokenLimitNames, ...shortages] as const;
export type LimitName = (typeof limitNames)[number];

/** What the limits say of a request. */
interface Verdict<Name extends LimitName> {
  /** The first limit that refuses it. Undefined: none does. */
  readonly by: Name | undefined;
  /** Limits that would, if they were enforced. */
  readonly would: readonly Name[];
}

export function verdictOf<Name extends LimitName>(
  exceeded: readonly Name[],
  { notEnforced = [] }: Pick<LimitsAsk, 'notEnforced'>,
): Verdict<Name> {
  const by = exceeded.find((name) => !notEnforced.includes(name));
  return { by, would: exceeded.filter((name) => notEnforced.includes(name)) };
}

/** Which limit refuses a request, the first one in the order of refusals (docs/concepts/architecture.md §2.2). */
export function refusedBy(ask: LimitsAsk, load: UnderWay): Verdict<LimitName> {
  const exceeded: LimitName[] = [];
  if (!hasToken(load.fullInMs, ask)) exceeded.push('rate');
  if (load.inFlight >= ask.maxInFlight) exceeded.push('concurrency');
  exceeded.push(...exceededTokens(ask.tokens, load.tokensFullInMs).map(({ by }) => by));
  if (!ask.isFree) exceeded.push(...exceededFunds(ask, ask.funds, load));
  return verdictOf(exceeded, ask);
}

/**
 * The limits in tokens of which nothing is left. The remaining tokens need not be enough for one more request, as with money: so
 * what is used can exceed a limit by one answer, and no request is too large for any limit.
 */
export const exceededTokens = (
  limits: readonly TokenLimit[] = [],
  fullInMs: UnderWay['tokensFullInMs'],
): readonly TokenLimit[] => limits.filter((limit) => !hasToken(fullInMs(limit), minuteBucket(limit.perMinute)));

/** The fund that the reservations exhaust, as `exceededFunds` has it. */
export const shortOf = (ask: LimitsAsk, funds: Funds, load: Parameters<typeof exceededFunds>[2]): Verdict<Shortage> =>
  verdictOf(exceededFunds(ask, funds, load), ask);

/**
 * The funds that the reservations exhaust; none when all funds have something left. The remaining amount need not
 * be enough for one more request. So an account can be overspent by its last answer, and by the amounts by which other
 * answers exceed their expected cost.
 */
function exceededFunds(
  ask: Pick<LimitsAsk, 'keyId' | 'workspaceId'>,
  funds: Funds,
  { reserved, budgetReserved }: Pick<UnderWay, 'reserved' | 'budgetReserved'>,
): readonly Shortage[] {
  const budgets = budgetsOf(ask, funds).filter(({ id, left }) => left !== undefined && left <= budgetReserved(id));
  return [...(funds.balance <= reserved ? (['balance'] as const) : []), ...budgets.map(({ shortage }) => shortage)];
}

/** The place of an admitted request among those under way, with its reservation. */
export interface Slot {
  /**
   * Reserves the expected cost, and the expected tokens, right before the request is dispatched. Returns the exhausted fund or limit
   * and reserves nothing when concurrent requests have used it up. Requests that were admitted at the same time, before their cost
   * was known, are checked here one after the other.
   */
  readonly reserve: (cost: Money, funds: Funds, expected?: ExpectedTokens) => Short | Promise<Short>;
  /** Changes the reservation to a new expected cost, and to new expected tokens. Cheap, but not meant for every chunk. */
  readonly adjust: (cost: Money, expected?: ExpectedTokens) => void;
  /**
   * Releases the slot and the reservation; further calls do nothing. `left` finds the funds after the settlement. It is
   * called only if other replicas need them before they read the accounts themselves. `used` replaces the expected tokens; without
   * it, none was used. When the promise resolves, the slot is free on all replicas.
   */
  readonly release: (left?: FindFunds, used?: ExpectedTokens) => void | Promise<void>;
  /** The limit in tokens of which the least is left, as it was last seen. Absent: the request has no such limit. */
  readonly tokens?: (() => RateStatus | undefined) | undefined;
  /** Limits that would have refused it so far, if they were enforced. Absent: all are. */
  readonly wouldRefuse?: (() => readonly LimitName[]) | undefined;
}

/** Tokens of a request, prompt and output together. */
export interface ExpectedTokens {
  readonly tokens: number;
}

/** What refuses a reservation. Undefined: nothing does. */
export type Short = Shortage | TokenLimitName | undefined;

/** Finds what may be spent now; undefined when that is not known. Never rejects. */
export type FindFunds = () => Funds | undefined | Promise<Funds | undefined>;

/** The result of admission. A refused request has taken nothing: no token and no slot. */
export type AdmitResult<Place extends Slot = Slot> =
  | { readonly kind: 'admitted'; readonly rate: RateStatus; readonly slot: Place }
  | {
      readonly kind: 'refused';
      readonly by: LimitName;
      readonly rate: RateStatus;
      /** As `Slot.tokens`. */
      readonly tokens?: RateStatus | undefined;
    };

/** The limits of keys and workspaces. Never queues requests, never fails, and answers within a fraction of a second. */
export interface Limits {
  readonly admit: (ask: LimitsAsk) => AdmitResult | Promise<AdmitResult>;
}

/** Which bound ended an upload: its owner's bytes, all bytes, or its time. */
export const uploadBounds = ['workspace', 'address', 'total', 'time'] as const;
export type UploadBound = (typeof uploadBounds)[number];
