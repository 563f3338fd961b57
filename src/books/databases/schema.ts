import type { KeyFields, KeyStatus, tagBudgetFields, WorkspaceFields } from '../../core/account.ts';
import type { DeliveryState } from '../../core/alert.ts';
import type { OutboxKind, SubscriptionName } from '../../core/event-delivery.ts';
import type { AccountKind } from '../core/declared-account.ts';
import type { identityLimits } from '../../core/identity.ts';
import type { localUserFields } from '../core/local-user.ts';
import type { memberFields } from '../core/membership.ts';
import type { RefusalRow } from '../core/refusal.ts';
import type { serviceAccountFields } from '../core/service-account.ts';
import type { ColumnType, Generated } from 'kysely';
import type { ColumnsOf } from './account-columns.ts';
import type { Actor, AuditAction, creditFields, sessionFields } from '../core/administration.ts';
import type { StoredRequest } from '../ledger/stored-request.ts';
import type { usageSumColumns } from '../ledger/usage-rollup.ts';

/**
 * The tables, as the queries see them. Every integer of the accounts is a 64-bit column and is read as a bigint, money and counts
 * alike, so that SQLite and PostgreSQL answer with the same values; the ledger's smaller integers are a `SmallInteger`. Times are
 * milliseconds since the Unix epoch.
 */
export interface Schema {
  readonly workspaces: WorkspaceTable;
  readonly keys: KeyTable;
  readonly credits: CreditTable;
  readonly declarations: DeclarationTable;
  readonly spending: SpendingTable;
  readonly inherited_spending: InheritedSpendingTable;
  readonly secrets: SecretTable;
  readonly audit: AuditTable;
  readonly thresholds: ThresholdTable;
  readonly alerts: AlertTable;
  readonly event_subscriptions: EventSubscriptionTable;
  readonly outbox: OutboxTable;
  readonly sessions: SessionTable;
  readonly members: MemberTable;
  readonly service_accounts: ServiceAccountTable;
  readonly local_users: LocalUserTable;
  readonly reservations: ReservationTable;
  /** The table `requests`, with only its packed columns. Ids are read and compared with `sql-dialect.ts`. */
  readonly requests: StoredRequest;
  readonly usage_hours: UsageRow;
  readonly usage_days: UsageRow;
  readonly ledger_keys: LedgerKeyTable;
  readonly ledger_models: LedgerModelTable;
  readonly ledger_routes: LedgerRouteTable;
  readonly ledger_tags: LedgerTagTable;
  readonly usage_tags: UsageRow & { readonly tag: SmallInteger };
  readonly tag_budgets: TagBudgetTable;
  readonly ledger_state: LedgerStateTable;
  readonly refusals: RefusalRow;
  readonly identities: IdentityTable;
  readonly statements: StatementTable;
  readonly vector_references: VectorReferenceTable;
}

/** A column of less than 64 bits: SQLite's driver reads a bigint, PostgreSQL's a number. */
type SmallInteger = ColumnType<number | bigint, number, never>;

interface WorkspaceTable extends ColumnsOf<WorkspaceFields> {
  readonly id: string;
  readonly name: string;
  readonly balance: bigint;
  readonly created_at: bigint;
  /** The balance right after the last credit, less the corrections since. */
  readonly alert_base: Generated<bigint>;
  /** Counts the credits. With each of them the thresholds of the balance begin anew. */
  readonly alert_period: Generated<bigint>;
}

/**
 * The object that declares an account. The row stays when the object is gone, so that a later object of the same name
 * finds the account again: a Credit is never booked twice, and a Workspace keeps its ledger.
 */
interface DeclarationTable {
  /** Id of a workspace, a key or a credit. */
  readonly account_id: string;
  readonly kind: AccountKind;
  readonly namespace: string;
  readonly name: string;
  /** 1: only the object can change the account. */
  readonly is_locked: bigint;
  /**
   * `pending`: a key that is about to become the one in the Secret of its ApiKey. `replaced`: a key that was in the Secret.
   * An object has one account that is `current`.
   */
  readonly state: 'current' | 'pending' | 'replaced';
  /** The fields of the object when the controller last saw it, as one text. */
  readonly spec: string | null;
  /** The status that people set against the object, until the object declares something else. */
  readonly override: KeyStatus | null;
  /** Of a key: when it got its text. */
  readonly since: bigint;
}

interface KeyTable extends ColumnsOf<KeyFields> {
  readonly id: string;
  /** SHA-256 of the key's text, lowercase hex. */
  readonly hash: string;
  readonly workspace_id: string;
  readonly created_at: bigint;
  /** The first characters of the key's text; null for keys of versions that did not keep them. */
  readonly prefix: string | null;
  /** The person for whom the portal calls the gateway with this key. Null: a person has the text of the key. */
  readonly playground_of: string | null;
  /** Subject of the person who made the key in the portal; null for other makers. */
  readonly maker: string | null;
  /** The identity whose account it is, and the subject if it has one of its own. Null: callers have the text of the key. */
  readonly identity_id: string | null;
  readonly subject: string | null;
}

/** Joins tokens of an issuer to a workspace. A revoked one stays, because its accounts name it. */
interface IdentityTable extends ColumnsOf<typeof identityLimits> {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  /** The rest of its `IdentityRules` in JSON. */
  readonly rules: string;
  readonly created_at: bigint;
}

/** Money added to a workspace, or removed by a correction. Credits and the ledger together prove the balance. */
interface CreditTable extends ColumnsOf<typeof creditFields> {
  readonly workspace_id: string;
  /** Unique in a workspace; null where none was given. */
  readonly idempotency_key: string | null;
}

/** The thresholds of a workspace, a key or a tag that has some of its own: percentages with a comma between them. */
interface ThresholdTable {
  readonly object_id: string;
  readonly percents: string;
}

/** A threshold that was reached, and the delivery of its webhook. */
interface AlertTable {
  readonly id: string;
  /** Id of the key or the workspace; `tag_` and the number of a tag. */
  readonly object_id: string;
  readonly workspace_id: string;
  /** `team=search`; null if it is not about the budget of a tag. */
  readonly tag: string | null;
  /** `month:1782864000000`: kind and start of a budget's period. `credit:7`: the period of a balance. */
  readonly period: string;
  readonly percent: bigint;
  /** USD. */
  readonly used: string;
  readonly allowance: string;
  readonly at: bigint;
  /** The body of the webhook. */
  readonly body: string;
  readonly state: DeliveryState;
  /** Of versions without the outbox, like the next one: 0 and `at`. */
  readonly tries: bigint;
  readonly next_try_at: bigint;
}

/** A receiver of events, and the process that sends to it: see `nextMessages`. */
interface EventSubscriptionTable {
  readonly name: SubscriptionName;
  /** With a comma between them. */
  readonly kinds: string;
  readonly holder: string | null;
  readonly held_until: bigint;
  /** When a service last wanted it. */
  readonly confirmed_at: bigint;
  readonly dropped: bigint;
  readonly dropped_since: bigint | null;
}

/** An event, or the settled requests of a batch, on its way to a subscription: see `note-events.ts`. */
interface OutboxTable {
  readonly seq: Generated<bigint>;
  readonly subscription: SubscriptionName;
  readonly kind: OutboxKind;
  /** Ids with commas; of a replay, JSON. */
  readonly refs: string;
  readonly events: bigint;
  /** When it may be sent first. */
  readonly at: bigint;
  /** When it may be sent again. */
  readonly retry_at: bigint;
  readonly tries: bigint;
}

/** Who is signed in to the portal: see `Session`. `workspaces` has ids with roles, `ws_1:owner,ws_2:viewer`. */
interface SessionTable extends ColumnsOf<typeof sessionFields> {
  readonly workspaces: string;
}

/** A role of a person in a workspace: see `MemberRecord`. */
interface MemberTable extends ColumnsOf<typeof memberFields> {
  readonly workspace_id: string;
  /** Subject of the person at the identity provider. Never null for a group. */
  readonly subject: string | null;
  readonly created_at: bigint;
}

/** See `ServiceAccount`. Scopes and ids of workspaces have a comma between them. */
interface ServiceAccountTable extends ColumnsOf<typeof serviceAccountFields> {
  /** SHA-256 of the token, lowercase hex. */
  readonly hash: string;
  readonly scopes: string;
  /** Null: all workspaces. */
  readonly workspaces: string | null;
  readonly revoked_at: bigint | null;
}

/** A person who signs in with a password (docs/how-to/portal.md). */
interface LocalUserTable extends ColumnsOf<typeof localUserFields> {
  /** Argon2id, in the PHC string format; null before the first invitation is accepted. */
  readonly password: string | null;
  /** SHA-256 of the token of the invitation link, lowercase hex; null: it was used. */
  readonly invitation: string | null;
}

/** The last report of one replica on its requests under way. */
interface ReservationTable {
  readonly replica: string;
  readonly workspace_id: string;
  readonly amount: bigint;
  readonly as_of: bigint;
}

/** One change of an account. Triggers refuse every update and delete. */
interface AuditTable {
  /** Counted by the database, in the order of the changes of an object. */
  readonly id: Generated<bigint>;
  readonly at: bigint;
  readonly actor_kind: Actor['kind'];
  readonly actor_name: string;
  readonly action: AuditAction;
  readonly object_id: string;
  /** Null where the change is about no workspace. */
  readonly workspace_id: string | null;
  /** The object before the change and after it, as JSON; null before it was made. */
  readonly before: string | null;
  readonly after: string;
}

/**
 * What was spent with a key on one UTC day: the sum of the costs of its requests that started on that day, updated at
 * each settlement. Weeks and months are sums of days. So a budget that is set or changed later counts what was spent
 * before.
 */
export interface SpendingTable extends InheritedSpendingTable {
  /** When the last request of the day started. */
  readonly last_used_at: bigint;
}

/**
 * Spending of replaced keys that counts against the budget of the key in their place. It is no spending of that key:
 * the ledger does not know it.
 */
interface InheritedSpendingTable {
  readonly key_id: string;
  /** First moment of the day. */
  readonly day: bigint;
  readonly amount: bigint;
}

/** The secret of the processes that share this database (`readSharedSecret`). Never to be shown. */
interface SecretTable {
  readonly name: string;
  readonly value: string;
}

/** A rollup (`usage-rollup.ts`), without the buckets of its histograms. */
type UsageRow = Readonly<Record<'period' | 'key' | 'model' | 'surface' | 'outcome', SmallInteger>> &
  Readonly<Record<(typeof usageSumColumns)[number], bigint>>;

/** The number of a key in the ledger. It also identifies the workspace. */
interface LedgerKeyTable {
  readonly number: Generated<number | bigint>;
  readonly key_id: string;
  readonly workspace_id: string;
}

interface LedgerModelTable {
  readonly number: Generated<number | bigint>;
  readonly name: string;
}

/** A route and its model. The name is empty for requests that no route answered. */
interface LedgerRouteTable {
  readonly number: Generated<number | bigint>;
  readonly model: SmallInteger;
  readonly name: string;
}

/** A tag of a workspace that requests had, or that has a budget. */
interface LedgerTagTable {
  readonly number: Generated<number | bigint>;
  readonly workspace_id: string;
  readonly name: string;
  readonly value: string;
}

interface TagBudgetTable extends ColumnsOf<typeof tagBudgetFields> {
  readonly tag: SmallInteger;
}

/** The vectors that the routes of an embedding model are compared with (`VectorReference`). */
export interface VectorReferenceTable {
  readonly model_id: string;
  readonly route_id: string;
  readonly upstream_model: string;
  /** Digest of the texts. */
  readonly texts: string;
  readonly dimensions: bigint;
  /** float32, little-endian; null while the vectors of `route_id` are awaited. */
  readonly vectors: Uint8Array | null;
  readonly since: bigint;
  /** When a service last had the model in its catalog. */
  readonly seen_at: bigint;
}

/** The statement of a closed month. Triggers refuse every update and delete. */
interface StatementTable {
  readonly workspace_id: string;
  /** `2026-11` */
  readonly month: string;
  /** A `MonthStatement` in JSON. */
  readonly document: string;
}

interface LedgerStateTable {
  /** `kept_since`: all requests from this moment on are kept; some or all of the earlier ones were deleted. */
  readonly name: 'kept_since';
  readonly value: bigint;
}
