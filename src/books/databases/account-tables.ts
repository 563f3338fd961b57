import { type Kysely, sql } from 'kysely';
import { deliveryStates } from '../../core/alert.ts';
import { memberSources } from '../core/membership.ts';
import { workspaceRoles } from '../core/rights.ts';
import {
  counted,
  createTables,
  isAmount,
  isOneOf,
  isPositiveAmount,
  keepRows,
  type TablesSql,
} from './create-table.ts';
import type { LedgerTable } from './ledger-tables.ts';
import type { Schema } from './schema.ts';

// The meaning of the columns: `Schema`.

const id = 'text primary key';
const text = 'text not null';
const whole = 'bigint not null';
const ofWorkspace = 'text not null references workspaces (id)';
const ofKey = 'text not null references keys (id)';
const keyStatus = `text not null ${isOneOf('status', ['active', 'suspended', 'revoked'])}`;
const budgetPeriod = `text ${isOneOf('budget_period', ['day', 'week', 'month', 'total'])}`;
const limits = { rate: whole, burst: whole, models: 'text', tokens_per_minute: 'bigint', not_enforced: 'text' };

/** All tables except those of the ledger. A table comes after those that it refers to. */
const tables: TablesSql<Exclude<keyof Schema, LedgerTable>> = {
  workspaces: {
    ...{ id, name: 'text not null unique', labels: 'text', created_at: whole },
    status: `text not null ${isOneOf('status', ['active', 'suspended'])}`,
    balance: `bigint not null ${isAmount('balance')}`,
    credit_limit: `bigint not null default 0 ${isPositiveAmount('credit_limit')}`,
    ...{ max_in_flight: whole, tokens_per_minute: 'bigint', not_enforced: 'text', tag_tokens_per_minute: 'text' },
    ...{ alert_base: 'bigint not null default 0', alert_period: 'bigint not null default 0' },
  },
  identities: {
    ...{ id, name: text, status: keyStatus, issuer: text, audience: text, rules: text, created_at: whole, ...limits },
    ...{ budget_limit: `bigint ${isPositiveAmount('budget_limit')}`, budget_period: budgetPeriod },
  },
  keys: {
    ...{ id, hash: 'text not null unique', prefix: 'text', workspace_id: ofWorkspace, name: 'text', status: keyStatus },
    ...{ budget_limit: `bigint ${isAmount('budget_limit')}`, budget_period: budgetPeriod, ...limits },
    ...{ created_at: whole, expires_at: 'bigint', playground_of: 'text', maker: 'text' },
    ...{ identity_id: 'text references identities (id)', subject: 'text' },
  },
  credits: {
    ...{ id, workspace_id: ofWorkspace, amount: `bigint not null ${isAmount('amount')}`, created_at: whole },
    ...{ note: 'text', idempotency_key: 'text' },
  },
  declarations: {
    ...{ account_id: id, namespace: text, name: text, is_locked: whole, since: whole, spec: 'text', override: 'text' },
    kind: `text not null ${isOneOf('kind', ['Workspace', 'ApiKey', 'Credit', 'Identity'])}`,
    state: `text not null ${isOneOf('state', ['current', 'pending', 'replaced'])}`,
  },
  spending: {
    ...{ key_id: ofKey, day: whole, amount: `bigint not null ${isAmount('amount')}`, last_used_at: whole },
  },
  inherited_spending: { key_id: ofKey, day: whole, amount: `bigint not null ${isAmount('amount')}` },
  secrets: { name: id, value: text },
  audit: {
    ...{ id: counted, at: whole, actor_name: text, action: text, object_id: text, workspace_id: 'text' },
    ...{ before: 'text', after: text },
    // The words of this migration: those that a later version adds come with a migration of their own.
    actor_kind: `text not null ${isOneOf('actor_kind', [
      ...['command-line', 'admin-token', 'portal-user', 'controller', 'service', 'service-account'],
    ])}`,
  },
  thresholds: { object_id: id, percents: text },
  alerts: {
    ...{ id, object_id: text, workspace_id: text, tag: 'text', period: text, percent: whole, used: text },
    ...{ allowance: text, at: whole, body: text, tries: whole, next_try_at: whole },
    state: `text not null ${isOneOf('state', deliveryStates)}`,
  },
  event_subscriptions: {
    ...{ name: id, kinds: text, holder: 'text', held_until: whole, confirmed_at: whole },
    ...{ dropped: whole, dropped_since: 'bigint' },
  },
  // A sender that was stopped for long must not end the row of a later event, so no number is used twice.
  outbox: {
    ...{ seq: counted, subscription: text, kind: text, refs: text, events: whole, at: whole, retry_at: whole },
    tries: whole,
  },
  sessions: {
    ...{ hash: id, role: text, name: text, address: 'text', workspaces: text, key_id: 'text references keys (id)' },
    ...{ credential: 'text', csrf_token: text, log_out_hint: 'text', created_at: whole, expires_at: whole },
  },
  members: {
    ...{ id, workspace_id: text, address: 'text', subject: 'text', name: 'text' },
    role: `text not null ${isOneOf('role', workspaceRoles)}`,
    source: `text not null ${isOneOf('source', memberSources)}`,
    ...{ created_at: whole, last_sign_in_at: 'bigint' },
  },
  service_accounts: {
    ...{ id, name: text, hash: 'text not null unique', prefix: text, scopes: text, workspaces: 'text' },
    ...{ created_at: whole, expires_at: whole, revoked_at: 'bigint', last_used_at: 'bigint' },
  },
  local_users: {
    ...{ id, address: 'text not null unique', role: `text not null ${isOneOf('role', ['member', 'admin'])}` },
    ...{ password: 'text', invitation: 'text unique', invited_until: 'bigint' },
    ...{ created_at: whole, last_sign_in_at: 'bigint' },
  },
  reservations: { replica: text, workspace_id: text, amount: whole, as_of: whole },
  vector_references: {
    ...{ model_id: id, route_id: text, upstream_model: text, texts: text, dimensions: whole },
    vectors: { sqlite: 'blob', postgres: 'bytea' },
    ...{ since: whole, seen_at: whole },
  },
  statements: { workspace_id: ofWorkspace, month: text, document: text },
};

const constraints: Partial<Readonly<Record<keyof typeof tables, string>>> = {
  spending: 'spending_of_key primary key (key_id, day)',
  alerts: 'alert_once_a_period unique (period, object_id, percent)',
  reservations: 'reservation_of_replica primary key (replica, workspace_id)',
  statements: 'statement_of_month primary key (workspace_id, month)',
};

const indexes = [
  'index keys_of_workspace on keys (workspace_id)',
  // A person has one such key in a workspace, besides revoked ones.
  `unique index one_playground_key on keys (workspace_id, playground_of)
    where playground_of is not null and status <> 'revoked'`,
  'index accounts_of_identity on keys (identity_id)',
  `unique index one_identity_of_a_name on identities (name) where status <> 'revoked'`,
  'index credits_of_workspace on credits (workspace_id)',
  'unique index credits_asked_for_once on credits (workspace_id, idempotency_key)',
  'index inherited_by_key on inherited_spending (key_id, day)',
  'index accounts_of_object on declarations (kind, namespace, name)',
  // Whatever becomes of an object, a later one of its name finds this account.
  `unique index one_account_of_object on declarations (kind, namespace, name) where state = 'current'`,
  'index audit_by_time on audit (at)',
  'index audit_of_workspace on audit (workspace_id, id)',
  // Lists of keys show who made each key: the first entry of the key in the audit trail.
  'index audit_of_object on audit (object_id, id)',
  'index alerts_by_age on alerts (at)',
  'index alerts_of_workspace on alerts (workspace_id, at)',
  `index alerts_to_deliver on alerts (next_try_at) where state = 'waiting'`,
  // Waiting events are counted from it alone: a row's `refs` take some 2 KB, and a long outage of a receiver leaves 200,000 rows.
  'index outbox_of_subscription on outbox (subscription, seq, at, events, kind)',
  'index sessions_by_expiry on sessions (expires_at)',
  `unique index invited_once on members (workspace_id, address) where source = 'invitation'`,
  `unique index in_a_group_once on members (workspace_id, subject) where source = 'group'`,
  'index members_by_address on members (address)',
  'index members_by_subject on members (subject)',
  // The audit trail has the name, so two accounts that work must not share one.
  'unique index one_account_of_a_name on service_accounts (name) where revoked_at is null',
];

/** Makes the tables of accounts, the audit trail, events and statements, with their indexes and triggers. */
export async function createAccounts(database: Kysely<unknown>): Promise<void> {
  await createTables(database, tables, constraints);
  for (const index of indexes) await sql.raw(`create ${index}`).execute(database);
  const why = 'entries of the audit trail are never changed or removed';
  await keepRows(database, 'audit', { why, replaces: 'refused' });
  await keepRows(database, 'statements', { why: 'statements of closed months are never changed or removed' });
}
