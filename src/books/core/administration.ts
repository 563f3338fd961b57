import type { AccountChange, AccountFields, AccountValues } from '../../core/account-field.ts';
import type { Key, KeyFields, WorkspaceFields } from '../../core/account.ts';
import type { OutcomeKind } from '../../core/settled-request.ts';
import type { Surface } from '../../core/dialect.ts';
import type { Money } from '../../core/money.ts';
import type { RoleInWorkspace } from './rights.ts';

// The operations of operators, the command line and the portal on accounts and the ledger: their arguments and results.

/**
 * `command-line`: a user of the operating system. `controller`: an object declares it (docs/how-to/accounts-in-git.md).
 * `service`: Weir itself, for example when a threshold is reached. `service-account`: a script with a token of its own.
 */
export const actorKinds = [
  'command-line',
  'admin-token',
  'portal-user',
  'controller',
  'service',
  'service-account',
] as const;

/** The author of a change to an account. */
export interface Actor {
  readonly kind: (typeof actorKinds)[number];
  /** Name of the user or of the token, never the token itself; of a controller the object with its generation. */
  readonly name: string;
}

export const actorGroups = ['people', 'automatic'] as const;
type ActorGroup = (typeof actorGroups)[number];

/** The authors of changes by kind: people, with a command or a page, or programs by themselves. */
const groupOfActor: Readonly<Record<Actor['kind'], ActorGroup>> = {
  ...({ 'command-line': 'people', 'admin-token': 'people', 'portal-user': 'people' } as const),
  ...({ controller: 'automatic', service: 'automatic', 'service-account': 'automatic' } as const),
};

export const actorsOf = (group: ActorGroup): readonly Actor['kind'][] =>
  actorKinds.filter((kind) => groupOfActor[kind] === group);

/**
 * The author of a change, and when it was made: milliseconds since the Unix epoch. Every function that changes an
 * account requires both.
 */
export interface Authorship {
  readonly actor: Actor;
  readonly now: number;
}

const ofBoth = ['create', 'suspend', 'resume', 'limits', 'thresholds', 'threshold-reached'] as const;
const ofWorkspaces = [...ofBoth, 'credit', 'labels', 'erase-name', 'tag-budget', 'tag-threshold-reached'] as const;
const ofKeys = [...ofBoth, 'revoke', 'budget', 'update', 'rotate'] as const;
const ofIdentities = ['create', 'update', 'suspend', 'resume', 'revoke'] as const;
const ofMembers = ['invite', 'role', 'remove'] as const;
const ofUsers = ['invite', 'password', 'remove'] as const;

export const auditActions = [
  ...ofWorkspaces.map((action) => `workspace.${action}` as const),
  ...ofKeys.map((action) => `key.${action}` as const),
  ...ofIdentities.map((action) => `identity.${action}` as const),
  ...ofMembers.map((action) => `member.${action}` as const),
  ...ofUsers.map((action) => `user.${action}` as const),
  ...(['service-account.create', 'service-account.revoke'] as const),
  // Recorded by earlier code, and nothing records it any more (docs/decisions/0111-sqlites-commits-are-counted-by-nobody.md).
  'ledger.accept-loss',
  'model.accept-vectors',
  'model.price',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** The part of an object that the audit trail shows. Never a secret: neither a key's text nor its hash. */
export type AuditedObject = Readonly<Record<string, unknown>>;

export interface AuditedChange {
  readonly action: AuditAction;
  readonly objectId: string;
  readonly workspaceId: string | undefined;
  /** Undefined: the change created the object. */
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
  /** Only these entries. */
  readonly ids?: readonly number[] | undefined;
  readonly workspaceId?: string | undefined;
  /** Only by authors of these kinds. */
  readonly actorKinds?: readonly Actor['kind'][] | undefined;
  /** Name of the author. */
  readonly actorName?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly objectId?: string | undefined;
  /** Only entries from `since` on and before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only entries with a lower id. They come later in the list. */
  readonly before?: number | undefined;
}

/**
 * A request for one page of a list: at most `limit` objects after the object that `cursor` names. The page before
 * returned the cursor.
 */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Which lines of a report are wanted. */
export interface LinesOfPage {
  /** The number of lines to skip. */
  readonly offset: number;
  /** The largest number of lines. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page. Undefined: this is the last page. */
  readonly next: string | undefined;
}

/**
 * Makes a page of at most `limit` objects from the result of a query for `limit` + 1. `cursorOf` returns the cursor of
 * the last object.
 */
export function cutPage<Item>(found: readonly Item[], limit: number, cursorOf: (last: Item) => string): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

/** The name of a key, and the workspace that it belongs to. */
export interface KeyLabel {
  readonly name: string | undefined;
  readonly workspace: string;
}

export interface NewWorkspace extends Omit<AccountValues<WorkspaceFields>, 'status'> {
  readonly name: string;
  readonly credit: Money;
}

/** What can be changed of a workspace. Absent fields stay as they are. */
export type WorkspaceSettings = Omit<AccountChange<WorkspaceFields>, 'thresholds'>;

export interface NewCredit {
  /** Negative for a correction. */
  readonly amount: Money;
  /** The purpose of the credit. A correction needs a note. */
  readonly note: string | undefined;
  /** The idempotency key of a request that may be repeated. A repeated request adds nothing. */
  readonly idempotencyKey?: string | undefined;
}

/** The fields of a credit in the books of a workspace. */
export const creditFields = {
  id: { name: 'id', kind: 'text', example: 'credit_6b86b273ff34fce19d6b' },
  amount: { name: 'amount', kind: 'money', shown: 'USD; below zero for a correction.' },
  note: { name: 'note', kind: 'text', maxLength: 500, optional: true },
  createdAt: { name: 'created_at', kind: 'moment' },
} as const satisfies AccountFields;
export type CreditRecord = AccountValues<typeof creditFields>;

export type Budget = NonNullable<Key['budget']>;

/** A key as an operator sees it, without its text, which is not stored. */
export interface IdentityOfKey {
  readonly id: string;
  readonly name: string;
  /** Whose account it is; undefined: all subjects share it. */
  readonly subject: string | undefined;
}

export interface KeyRecord extends Key {
  readonly workspaceName: string;
  /** The first characters of its text; undefined for keys of versions that did not keep them. */
  readonly prefix: string | undefined;
  /** The portal created the key, and only the portal has its text (`PlaygroundKey`). */
  readonly isOfPlayground: boolean;
  /** Subject of the person who made the key in the portal, at the identity provider; undefined for other makers. */
  readonly maker: string | undefined;
  /** The identity whose account it is: there is no text. */
  readonly identity: IdentityOfKey | undefined;
  readonly createdAt: number;
  /** Start of the last request that was settled with the key; undefined if there was no request. */
  readonly lastUsedAt: number | undefined;
}

/** What an operator can set for a key, besides its limits and budget. */
export type KeyDetails = Omit<KeyChange, 'status' | 'budget' | 'thresholds' | 'rate' | 'burst'>;

export interface NewKey extends Omit<AccountValues<KeyFields>, 'status'> {
  /** Name or id of the workspace that pays. */
  readonly workspace: string;
  /** As in `KeyRecord`. */
  readonly maker?: string | undefined;
}

/**
 * The facts with which the portal gets the key that calls the gateway for a person. There is one key for each
 * workspace.
 */
export interface PlaygroundKey extends Omit<NewKey, 'expiresAt' | 'maker'> {
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
 * A change of a key. Budget, thresholds, name, expiry and models are removed where the field is present and undefined.
 * Absent fields stay as they are.
 */
export type KeyChange = AccountChange<KeyFields> & {
  /** Also if an object declares the key: the status holds until the object declares something else. */
  readonly override?: true | undefined;
};

/** Which requests to select. An absent field does not restrict the selection. */
export interface LedgerFilter {
  readonly workspaceId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly modelId?: string | undefined;
  readonly outcomes?: readonly OutcomeKind[] | undefined;
  readonly surface?: Surface | undefined;
  /** The name of the tag by whose values a report groups. Given with the dimension `tag` alone. */
  readonly tagName?: string | undefined;
  /** Only single requests can be selected by it: rollups do not have it, and the ledger has no index of it. */
  readonly correlationId?: string | undefined;
  /** Started at or after this moment, milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Started before this moment. */
  readonly until?: number | undefined;
}

/** The database cannot be reached, and nothing was done. The same call may succeed a moment later. */
export class DatabaseDown extends Error {
  override readonly name = 'DatabaseDown';
}

/** The dimensions by which usage can be grouped. */
export const usageDimensions = ['hour', 'day', 'week', 'model', 'key', 'workspace', 'surface', 'tag'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/**
 * One line of a report. Dimensions that were not requested are undefined. In the line "all others" of a report of the
 * top groups, every dimension is undefined.
 */
export interface UsageLine {
  /** Name of the workspace. */
  readonly workspace: string | undefined;
  /** Id of the key. */
  readonly key: string | undefined;
  readonly model: string | undefined;
  readonly surface: Surface | undefined;
  /** A value of the tag. Empty: the requests without the tag. */
  readonly tag: string | undefined;
  /** UTC day, `2026-07-01`. */
  readonly day: string | undefined;
  /** The Monday with which a week begins, a UTC day. */
  readonly week: string | undefined;
  /** UTC hour with its day, `2026-07-01T13:00Z`. */
  readonly hour: string | undefined;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
  readonly cost: Money;
  /** Undefined if the report was requested without it. */
  readonly performance: UsagePerformance | undefined;
}

/** How well the requests of a line were served. */
export interface UsagePerformance {
  /** Requests that broke off or failed through no fault of the caller. */
  readonly errors: number;
  /** Milliseconds, interpolated in a histogram; undefined when no request returned a token. */
  readonly firstTokenP50Ms: number | undefined;
  readonly firstTokenP95Ms: number | undefined;
}

export const sessionRoles = ['admin', 'member', 'key'] as const;

/** The fields of a session that its row has as they are. */
export const sessionFields = {
  /** SHA-256 of the cookie's secret, lowercase hex. */
  hash: { name: 'hash', kind: 'text' },
  role: { name: 'role', kind: 'name', names: sessionRoles },
  /** The name that the audit trail and the portal's pages show. */
  name: { name: 'name', kind: 'text' },
  /** The address that the identity provider has verified, in the form of `memberAddress`. Invitations go by it. */
  address: { name: 'address', kind: 'text', optional: true },
  /** Id of the key with which the session was opened. The session ends with the key. */
  keyId: { name: 'key_id', kind: 'text', optional: true },
  /**
   * The origin of the session: the digest of the admin token, or the subject of an identity provider; undefined for a
   * key.
   */
  credential: { name: 'credential', kind: 'text', optional: true },
  /** Every request that changes something must carry this text in the header `x-csrf-token`. */
  csrfToken: { name: 'csrf_token', kind: 'text' },
  /** The hint that an identity provider needs at log-out. */
  logOutHint: { name: 'log_out_hint', kind: 'text', optional: true },
  createdAt: { name: 'created_at', kind: 'moment' },
  expiresAt: { name: 'expires_at', kind: 'moment' },
} as const satisfies AccountFields;

/** Who is signed in to the portal. */
export interface Session extends AccountValues<typeof sessionFields> {
  /** The roles of a member or a key by the ids of workspaces, of groups and invitations. Empty for an admin. */
  readonly roles: ReadonlyMap<string, RoleInWorkspace>;
  /** Those of `roles` that the session began with: by groups of the identity provider, or by the key. */
  readonly groupRoles: ReadonlyMap<string, RoleInWorkspace>;
}

/** A session that begins. Its roles also come from invitations, which are read with it. */
export type NewSession = Omit<Session, 'roles'>;
