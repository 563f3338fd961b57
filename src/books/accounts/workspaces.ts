import type { Kysely, Selectable, Transaction, Updateable } from 'kysely';
import { changedFields, setFields } from '../../core/account-field.ts';
import { type Workspace, workspaceFields } from '../../core/account.ts';
import {
  type AuditAction,
  type AuditedObject,
  type Authorship,
  creditFields,
  type CreditRecord,
  type NewCredit,
  type NewWorkspace,
  type Page,
  type PageRequest,
  type WorkspaceSettings,
  cutPage,
} from '../core/administration.ts';
import { type Refusal, refusal } from '../core/operator-refusals.ts';
import { formatUsd, maxBalance, type Money } from '../../core/money.ts';
import { isOneLine } from '../../core/one-line.ts';
import { shownFields } from '../core/shown.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import { recordChange } from './audit.ts';
import { refuseDeclared } from './declarations.ts';
import type { Schema } from '../databases/schema.ts';
import { noteEvent } from '../outbox/note-events.ts';
import { randomBytes } from 'node:crypto';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const idPattern = /^ws_[0-9a-f]{20}$/;

/** Makes a workspace with its first credit. Throws a `Refusal` for a malformed or existing name, and for a credit past the cap. */
export async function createWorkspace(
  queries: Kysely<Schema>,
  wanted: NewWorkspace,
  by: Authorship,
): Promise<Workspace> {
  const { name, credit } = wanted;
  if (!namePattern.test(name) || idPattern.test(name)) {
    const form = 'it takes 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or a digit';
    throw refusal('name_malformed', { name, what: 'a workspace', form });
  }
  if (credit > maxBalance) throw pastCap(name, credit);
  return queries.transaction().execute((transaction) => insertWorkspace(transaction, wanted, by));
}

/**
 * Like `createWorkspace`, in a transaction, without a check of the form of the name. A name with the form of an id, such as
 * that of an object in the namespace `ws`, is refused: a workspace with it could not be found by its name.
 */
export async function insertWorkspace(
  transaction: Transaction<Schema>,
  { name, credit, ...settings }: NewWorkspace,
  by: Authorship,
): Promise<Workspace> {
  if (idPattern.test(name)) throw refusal('workspace_name_is_id', { name });
  const row = {
    id: newId('ws'),
    name,
    balance: credit,
    created_at: BigInt(by.now),
    ...columnsOf(workspaceFields, { ...settings, status: 'active' }),
    alert_base: credit,
    alert_period: 1n,
  };
  const { numInsertedOrUpdatedRows: inserted } = await transaction
    .insertInto('workspaces')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirst();
  if (inserted !== 1n) throw refusal('workspace_exists', { name });
  if (credit > 0n) {
    await insertCredit(transaction, { workspaceId: row.id, amount: credit, note: undefined, now: by.now });
  }
  const made = workspaceOf(row);
  await recordWorkspace(transaction, { action: 'workspace.create', before: undefined, after: made }, by);
  return made;
}

export async function listWorkspaces(queries: Kysely<Schema>): Promise<readonly Workspace[]> {
  const rows = await queries.selectFrom('workspaces').selectAll().orderBy('name').execute();
  return rows.map(workspaceOf);
}

/** Returns a function from the id of a workspace to its name. It returns the id where there is no such workspace. */
export async function workspaceNames(queries: Kysely<Schema>): Promise<(id: string) => string> {
  const names = new Map((await listWorkspaces(queries)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** A page of workspaces in the order of their names: of all, or of those with the given ids. */
export async function pageOfWorkspaces(
  queries: Kysely<Schema>,
  { limit, cursor }: PageRequest,
  ids?: readonly string[],
): Promise<Page<Workspace>> {
  if (ids?.length === 0) return { items: [], next: undefined };
  let query = queries
    .selectFrom('workspaces')
    .selectAll()
    .orderBy('name')
    .limit(limit + 1);
  if (cursor !== undefined) query = query.where('name', '>', cursor);
  if (ids !== undefined) query = query.where('id', 'in', ids);
  const rows = await query.execute();
  return cutPage(rows.map(workspaceOf), limit, ({ name }) => name);
}

/** Finds a workspace by its name or its id. Throws a `Refusal` when there is none. */
export async function findWorkspace(queries: Kysely<Schema>, nameOrId: string): Promise<Workspace> {
  const column = nameColumn(nameOrId);
  const row = await queries.selectFrom('workspaces').selectAll().where(column, '=', nameOrId).executeTakeFirst();
  if (!row) throw noWorkspace(nameOrId);
  return workspaceOf(row);
}

/**
 * Finds and locks a workspace that is about to be changed. No other process changes it until the transaction ends, so
 * the audit trail has its state right before the change.
 */
export async function lockWorkspace(transaction: Transaction<Schema>, nameOrId: string): Promise<Workspace> {
  const row = await transaction
    .updateTable('workspaces')
    .set((columns) => ({ status: columns.ref('status') }))
    .where(nameColumn(nameOrId), '=', nameOrId)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw noWorkspace(nameOrId);
  return workspaceOf(row);
}

function nameColumn(nameOrId: string): 'id' | 'name' {
  return idPattern.test(nameOrId) ? 'id' : 'name';
}

function noWorkspace(nameOrId: string): Refusal {
  const named = nameColumn(nameOrId) === 'id' ? 'with the id' : 'named';
  return refusal('workspace_not_found', { workspace: `${named} "${nameOrId}"` });
}

/** Changes settings of a workspace in one transaction: all of them or none. Requests that are under way go on. */
export async function changeWorkspace(
  queries: Kysely<Schema>,
  nameOrId: string,
  settings: WorkspaceSettings,
  by: Authorship,
): Promise<Workspace> {
  return queries.transaction().execute(async (transaction) => {
    const workspace = await lockWorkspace(transaction, nameOrId);
    await refuseDeclared(transaction, workspace.id, by);
    return changeLocked(transaction, workspace, { settings, by });
  });
}

interface WorkspaceChange {
  readonly action: AuditAction;
  readonly columns: Updateable<Schema['workspaces']>;
}

function changesOf({ status, ...settings }: WorkspaceSettings): readonly WorkspaceChange[] {
  const changes = changedFields(workspaceFields, settings);
  return [
    ...(status === undefined ? [] : [{ action: statusActions[status], columns: { status } }]),
    ...changes.map(({ action, fields }) => ({ action, columns: columnsOf(fields, settings) })),
  ];
}

const statusActions = { active: 'workspace.resume', suspended: 'workspace.suspend' } as const;

/** Changes a workspace that is locked. Each kind of change has its entry in the audit trail, if anything differs. */
export async function changeLocked(
  transaction: Transaction<Schema>,
  before: Workspace,
  { settings, by }: { readonly settings: WorkspaceSettings; readonly by: Authorship },
): Promise<Workspace> {
  let workspace = before;
  for (const change of changesOf(settings)) workspace = await writeChange(transaction, workspace, { ...change, by });
  return workspace;
}

/** Gives a locked workspace another name. Its ledger goes by its id. */
export async function renameLocked(
  transaction: Transaction<Schema>,
  before: Workspace,
  { name, by }: { readonly name: string; readonly by: Authorship },
): Promise<Workspace> {
  return writeChange(transaction, before, { action: 'workspace.erase-name', columns: { name }, by });
}

async function writeChange(
  transaction: Transaction<Schema>,
  before: Workspace,
  { action, columns, by }: WorkspaceChange & { readonly by: Authorship },
): Promise<Workspace> {
  const row = await transaction
    .updateTable('workspaces')
    .set(columns)
    .where('id', '=', before.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const after = workspaceOf(row);
  await recordWorkspace(transaction, { action, before, after }, by);
  return after;
}

export async function recordWorkspace(
  transaction: Transaction<Schema>,
  changed: {
    readonly action: AuditAction;
    readonly before: Workspace | undefined;
    readonly after: Workspace;
    /** Further facts for the audit trail. */
    readonly about?: AuditedObject;
  },
  by: Authorship,
): Promise<void> {
  const { action, before, after, about } = changed;
  const entry = {
    action,
    objectId: after.id,
    workspaceId: after.id,
    before: before && auditedWorkspace(before),
    after: { ...auditedWorkspace(after), ...about },
  };
  await recordChange(transaction, entry, by);
}

function auditedWorkspace(workspace: Workspace): AuditedObject {
  const { name, status, balance } = workspace;
  const fields = setFields(workspaceFields, workspace);
  return { name, status, balance: formatUsd(balance), ...shownFields(fields, workspace) };
}

export function workspaceOf(row: Selectable<Schema['workspaces']>): Workspace {
  const { id, name, balance } = row;
  return { id, name, balance, ...fieldsOfRow(workspaceFields, row) };
}

/** Adds a row to the credits. */
export async function insertCredit(
  transaction: Transaction<Schema>,
  { amount, note, idempotencyKey, ...where }: NewCredit & { readonly workspaceId: string; readonly now: number },
): Promise<CreditRecord> {
  const made = { id: newId('credit'), amount, note, createdAt: where.now };
  await transaction
    .insertInto('credits')
    .values({
      ...columnsOf(creditFields, made),
      workspace_id: where.workspaceId,
      idempotency_key: idempotencyKey ?? null,
    })
    .execute();
  await noteEvent(transaction, { kind: amount < 0n ? 'correction' : 'credit', ref: made.id, at: where.now });
  return made;
}

export function pastCap(name: string, balance: Money): Refusal {
  return refusal('balance_full', { name, sum: `$${formatUsd(balance)}`, max: `$${formatUsd(maxBalance)}` });
}

/**
 * A name or a note from an operator, without blanks around it. Undefined: nothing is left. Throws a `Refusal` if it is
 * too long or has several lines.
 */
export function oneLine(
  text: string,
  { what, max, field }: { readonly what: string; readonly max: number; readonly field: string },
): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > max || !isOneLine(trimmed)) throw refusal('text_malformed', { what, max }, { field });
  return trimmed === '' ? undefined : trimmed;
}

/** A new id such as `ws_9f86d081884c7d659a2f`: the prefix says what it names, 80 random bits make it unique. */
export function newId(prefix: 'ws' | 'key' | 'credit' | 'identity' | 'member' | 'sa' | 'user'): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}
