import type { AccountStatus, Key } from './account.ts';
import type { OutcomeKind } from './settled-request.ts';
import type { Surface } from './dialect.ts';
import type { ModelPatterns } from './model-patterns.ts';
import type { Money } from './money.ts';

// What operators, the command line and the portal do with accounts and the ledger, and the results.

/** `command-line`: a user of the operating system. */
export const actorKinds = ['command-line', 'admin-token', 'portal-user'] as const;

/** Who changes an account. */
export interface Actor {
  readonly kind: (typeof actorKinds)[number];
  /** Of the user or of the token; never the token itself. */
  readonly name: string;
}

/** Who makes a change, and when: milliseconds since the Unix epoch. Every function that changes an account takes one. */
export interface Authorship {
  readonly actor: Actor;
  readonly now: number;
}

export type AuditAction =
  | `workspace.${'create' | 'credit' | 'suspend' | 'resume' | 'limits'}`
  | `key.${'create' | 'suspend' | 'resume' | 'revoke' | 'budget' | 'limits' | 'update'}`
  | 'ledger.accept-loss';

/** What is shown of an object in the trail. Never a secret: neither a key's text nor its hash. */
export type AuditedObject = Readonly<Record<string, unknown>>;

export interface AuditedChange {
  readonly action: AuditAction;
  readonly objectId: string;
  readonly workspaceId: string | undefined;
  /** Undefined: the change made the object. */
  readonly before: AuditedObject | undefined;
  readonly after: AuditedObject;
}

export interface AuditEntry extends AuditedChange {
  /** Rises from entry to entry. */
  readonly id: number;
  readonly at: number;
  readonly actor: Actor;
  readonly workspaceName: string | undefined;
}

export interface AuditFilter {
  readonly workspaceId?: string | undefined;
  /** Only entries from `since` on and before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only entries with a lower id: those that come after it in the list. */
  readonly before?: number | undefined;
}

/** A part of a list: at most `limit` objects after the one that the cursor of the part before names. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Which lines of a report are wanted. */
export interface LinesOfPage {
  /** The number of lines to leave out before the wanted ones. */
  readonly offset: number;
  /** The largest number of lines. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined: this is the last part. */
  readonly next: string | undefined;
}

/** Makes a page of at most `limit` objects from a query for one more. `cursorOf` names the last one. */
export function cutPage<Item>(found: readonly Item[], limit: number, cursorOf: (last: Item) => string): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

export interface NewWorkspace {
  readonly name: string;
  readonly credit: Money;
  readonly maxInFlight: number;
}

export interface NewCredit {
  /** Below zero for a correction. */
  readonly amount: Money;
  /** What it is for. A correction needs one. */
  readonly note: string | undefined;
  /** The idempotency key of a request that may be repeated: the second time nothing is added. */
  readonly idempotencyKey?: string | undefined;
}

/** A credit that was made. */
export interface CreditRecord {
  readonly id: string;
  readonly amount: Money;
  readonly note: string | undefined;
  readonly createdAt: number;
}

export type Budget = NonNullable<Key['budget']>;

/** A key as an operator sees it, without its text, which is not stored. */
export interface KeyRecord extends Key {
  readonly workspaceName: string;
  /** What it is for, in an operator's words. */
  readonly name: string | undefined;
  /** The first characters of its text; undefined for keys of versions that did not keep them. */
  readonly prefix: string | undefined;
  /** The portal made it and alone has its text (`PlaygroundKey`). */
  readonly isOfPlayground: boolean;
  readonly createdAt: number;
  /** When the last request that was settled with the key had started; undefined when there was none. */
  readonly lastUsedAt: number | undefined;
}

/** What a key may be, and how long. */
export interface KeyDetails {
  readonly name?: string | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt?: number | undefined;
  readonly models?: ModelPatterns | undefined;
}

export interface NewKey extends KeyDetails {
  /** Name or id of the workspace that pays. */
  readonly workspace: string;
  readonly budget?: Budget | undefined;
  readonly rate: number;
  readonly burst: number;
}

/**
 * What the portal needs to get the key with which it calls the gateway for a person. There is one key for each
 * workspace.
 */
export interface PlaygroundKey extends Omit<NewKey, 'expiresAt'> {
  /** Id of the workspace that pays. */
  readonly workspace: string;
  /** Identifies the person: the same text over sessions and restarts. */
  readonly owner: string;
  /** How long the text of a key is valid. The key gets a new text before that. */
  readonly textMs: number;
  /** A text that expires sooner than this is not used. */
  readonly spareMs: number;
  /** A text that the gateway has refused: it is not given out again. */
  readonly refused: string | undefined;
}

/**
 * A change of a key. Budget, name, expiry and models are removed where the field is present and undefined. Absent
 * fields stay as they are.
 */
export interface KeyChange extends KeyDetails {
  readonly status?: AccountStatus | undefined;
  readonly budget?: Budget | undefined;
  readonly rate?: number | undefined;
  readonly burst?: number | undefined;
}

/** Which requests; an absent field does not restrict. */
export interface LedgerFilter {
  readonly workspaceId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly modelId?: string | undefined;
  readonly outcome?: OutcomeKind | undefined;
  /** Started at or after this moment, milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Started before this moment. */
  readonly until?: number | undefined;
}

/** The database cannot be reached, and nothing was done: it may be there again in a moment. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
}

/** What usage can be summed by. */
export const usageDimensions = ['hour', 'day', 'model', 'key', 'workspace', 'surface'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/**
 * One line of a report. Dimensions that were not requested are undefined, and so are those of the group "all others"
 * beside a top.
 */
export interface UsageLine {
  /** Name of the workspace. */
  readonly workspace: string | undefined;
  /** Id of the key. */
  readonly key: string | undefined;
  readonly model: string | undefined;
  readonly surface: Surface | undefined;
  /** UTC day, `2026-07-01`. */
  readonly day: string | undefined;
  /** UTC hour with its day, `2026-07-01T13:00Z`. */
  readonly hour: string | undefined;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
  readonly cost: Money;
  /** Undefined where it was not asked for. */
  readonly performance: UsagePerformance | undefined;
}

/** How well the requests of a line were served. */
export interface UsagePerformance {
  /** Requests that broke off or failed by no fault of their caller. */
  readonly errors: number;
  /** Milliseconds, interpolated in a histogram; undefined when no request brought a token. */
  readonly firstTokenP50Ms: number | undefined;
  readonly firstTokenP95Ms: number | undefined;
}

export const sessionRoles = ['admin', 'member', 'key'] as const;

/** Who is signed in to the portal. */
export interface Session {
  /** SHA-256 of the cookie's secret, lowercase hex. */
  readonly hash: string;
  readonly role: (typeof sessionRoles)[number];
  /** For the audit trail and the page. */
  readonly name: string;
  /** Ids of the workspaces of a member, and of the one of a key. */
  readonly workspaces: readonly string[];
  /** The session of a key ends with it. */
  readonly keyId: string | undefined;
  /**
   * The origin of the session: the digest of the admin token, or the subject of an identity provider; undefined for a
   * key.
   */
  readonly credential: string | undefined;
  /** What changes must carry in the header `x-csrf-token`. */
  readonly csrfToken: string;
  /** What an identity provider needs at log-out. */
  readonly logOutHint: string | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
}

type RefusalKind = 'invalid' | 'not-found' | 'conflict';

/** An operator's command that cannot be done as asked. The message is a sentence for the operator. */
export class Refusal extends Error {
  readonly kind: RefusalKind;
  /** The sentence without the part that only the command line can use. */
  readonly sentence: string;
  /** The field at fault as the admin API names it, where it is one. */
  readonly field: string | undefined;

  constructor(
    sentence: string,
    {
      kind = 'invalid',
      hint,
      field,
    }: {
      readonly kind?: RefusalKind;
      /** What the command line adds to the sentence. */
      readonly hint?: string;
      readonly field?: string;
    } = {},
  ) {
    super(hint === undefined ? sentence : `${sentence} ${hint}`);
    this.name = 'Refusal';
    this.kind = kind;
    this.sentence = sentence;
    this.field = field;
  }
}
