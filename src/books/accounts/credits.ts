import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Workspace } from '../../core/account.ts';
import {
  type Authorship,
  creditFields,
  type CreditRecord,
  type NewCredit,
  type Page,
  type PageRequest,
  cutPage,
} from '../core/administration.ts';
import { type Refusal, refusal } from '../core/operator-refusals.ts';
import { formatUsd, maxBalance, type Money } from '../../core/money.ts';
import { fieldsOfRow } from '../databases/account-columns.ts';
import { afterCursor, cursorOf } from '../databases/page-cursor.ts';
import { reservedFor } from './reservations.ts';
import type { Schema } from '../databases/schema.ts';
import { insertCredit, lockWorkspace, oneLine, pastCap, recordWorkspace } from './workspaces.ts';

/** A credit, and the state of the workspace after it. */
export interface Credited {
  readonly workspace: Workspace;
  readonly credit: CreditRecord;
}

/**
 * Adds a credit to a balance, or subtracts a correction, and records it. Throws a `Refusal` for an amount of zero, for
 * a credit past the cap, for a correction without a note, and for a correction above the balance minus the reservations
 * of requests under way. Services report their reservations every second, so a request that arrives at the same moment
 * may still overspend.
 */
export async function creditWorkspace(
  queries: Kysely<Schema>,
  nameOrId: string,
  credit: NewCredit,
  by: Authorship,
): Promise<Workspace> {
  return (await addCredit(queries, nameOrId, credit, by)).workspace;
}

/**
 * Like `creditWorkspace`, but also returns the credit. A credit that was added before with the same idempotency key is
 * not added again.
 */
export async function addCredit(
  queries: Kysely<Schema>,
  nameOrId: string,
  wanted: NewCredit,
  by: Authorship,
): Promise<Credited> {
  return queries.transaction().execute((transaction) => addLockedCredit(transaction, nameOrId, wanted, by));
}

/** Like `addCredit`, in a transaction. Locks the workspace. */
export async function addLockedCredit(
  transaction: Transaction<Schema>,
  nameOrId: string,
  wanted: NewCredit,
  by: Authorship,
): Promise<Credited> {
  const { amount, idempotencyKey } = wanted;
  const note = noteOf(wanted);
  if (amount > maxBalance) throw pastCap(nameOrId, amount);
  const workspace = await lockWorkspace(transaction, nameOrId);
  const earlier = await findRepeated(transaction, workspace.id, { amount, note, idempotencyKey });
  if (earlier !== undefined) return { workspace, credit: earlier };
  const balance = workspace.balance + amount;
  if (balance > maxBalance) throw pastCap(workspace.name, balance);
  if (amount < 0n) {
    const reserved = await reservedFor(transaction, workspace.id, by.now);
    if (balance < reserved) throw beyondBooks(workspace, { amount, reserved });
  }
  const after = { ...workspace, balance };
  await transaction
    .updateTable('workspaces')
    .set((columns) => ({
      balance,
      // With a credit, the share that is used begins at zero. A correction leaves what was spent as it is.
      alert_base: amount > 0n ? balance : columns('alert_base', '+', amount),
      alert_period: columns('alert_period', '+', amount > 0n ? 1n : 0n),
    }))
    .where('id', '=', workspace.id)
    .execute();
  const row = { workspaceId: workspace.id, amount, note, idempotencyKey, now: by.now };
  const credit = await insertCredit(transaction, row);
  const about = { credit: formatUsd(amount), note: note ?? null };
  await recordWorkspace(transaction, { action: 'workspace.credit', before: workspace, after, about }, by);
  return { workspace: after, credit };
}

/** The credit that was added with this idempotency key. Throws a `Refusal` if its amount or note differs. */
async function findRepeated(
  transaction: Transaction<Schema>,
  workspaceId: string,
  { amount, note, idempotencyKey }: NewCredit,
): Promise<CreditRecord | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const row = await transaction
    .selectFrom('credits')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('idempotency_key', '=', idempotencyKey)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.amount === amount && (row.note ?? undefined) === note) return creditOf(row);
  throw refusal('idempotency_key_reused');
}

/** A credit by its id, with the id of its workspace. Throws an Error if there is none. */
export async function findCredit(
  queries: Kysely<Schema>,
  id: string,
): Promise<{ readonly workspaceId: string; readonly credit: CreditRecord }> {
  const row = await queries.selectFrom('credits').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return { workspaceId: row.workspace_id, credit: creditOf(row) };
}

/** Credits by their ids, with the ids of their workspaces, in any order. */
export async function findCredits(
  queries: Kysely<Schema>,
  ids: readonly string[],
): Promise<readonly { readonly workspaceId: string; readonly credit: CreditRecord }[]> {
  const rows = await queries.selectFrom('credits').selectAll().where('id', 'in', ids).execute();
  return rows.map((row) => ({ workspaceId: row.workspace_id, credit: creditOf(row) }));
}

/** The credits and corrections of a workspace, newest first. */
export async function pageOfCredits(
  queries: Kysely<Schema>,
  workspaceId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<CreditRecord>> {
  const rows = await queries
    .selectFrom('credits')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(afterCursor('credits', cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutPage(rows.map(creditOf), limit, cursorOf);
}

const creditOf = (row: Selectable<Schema['credits']>): CreditRecord => fieldsOfRow(creditFields, row);

function noteOf({ amount, note = '' }: NewCredit): string | undefined {
  if (amount === 0n) throw refusal('credit_zero');
  const text = oneLine(note, { what: 'A note', max: creditFields.note.maxLength, field: 'note' });
  if (amount < 0n && text === undefined) throw refusal('correction_without_note');
  return text;
}

/** Writes an amount, for example `$2.5` or `-$2.5`. */
function dollars(amount: Money): string {
  return amount < 0n ? `-$${formatUsd(-amount)}` : `$${formatUsd(amount)}`;
}

function beyondBooks(
  { name, balance }: Workspace,
  { amount, reserved }: { readonly amount: Money; readonly reserved: Money },
): Refusal {
  const held =
    reserved > 0n ? `, and $${formatUsd(reserved)} is reserved for in-flight requests. Wait until they have ended` : '';
  return refusal('correction_too_large', { name, amount: dollars(amount), balance: dollars(balance), reserved: held });
}
