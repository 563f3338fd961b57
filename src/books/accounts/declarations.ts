import type { Kysely, Selectable, Transaction } from 'kysely';
import type { KeyStatus } from '../../core/account.ts';
import type { Authorship } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import type { AccountKind, AccountObjectName, Declaration, Declarer } from '../core/declared-account.ts';
import type { Schema } from '../databases/schema.ts';

// Which object declares an account. A row is written in the transaction that makes or takes the account.

/** The object that declares an account and may be the only one to change it. Undefined: no object declares it. */
export async function declarationOf(queries: Kysely<Schema>, accountId: string): Promise<Declaration | undefined> {
  const row = await queries
    .selectFrom('declarations')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return row && declarationFrom(row);
}

/**
 * The declarations of some accounts, by the accounts' ids. Accounts that no object declares are missing, and workspaces
 * whose names were erased.
 */
export async function declarationsOf(
  queries: Kysely<Schema>,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, Declaration>> {
  if (accountIds.length === 0) return new Map();
  const rows = await queries
    .selectFrom('declarations')
    .selectAll()
    .where('account_id', 'in', accountIds)
    .where((where) => where.or([where('kind', '<>', 'Workspace'), where('state', '=', 'current')]))
    .execute();
  return new Map(rows.map((row) => [row.account_id, declarationFrom(row)]));
}

function declarationFrom(row: Selectable<Schema['declarations']>): Declaration {
  return { kind: row.kind, namespace: row.namespace, name: row.name, isLocked: row.is_locked === 1n };
}

/** Throws a `Refusal` that names the object if only an object may change the account. The controller may change it. */
export async function refuseDeclared(
  transaction: Transaction<Schema>,
  accountId: string,
  { actor }: Authorship,
): Promise<void> {
  if (actor.kind === 'controller') return;
  const declared = await declarationOf(transaction, accountId);
  if (declared?.isLocked !== true) return;
  const { kind, namespace, name } = declared;
  throw refusal('declared_by_object', { kind, namespace, name });
}

/** Records the status that people set against the object of an account. Accounts without an object need no record. */
export async function overrideDeclared(
  transaction: Transaction<Schema>,
  accountId: string,
  status: KeyStatus | undefined,
): Promise<void> {
  const set = transaction.updateTable('declarations').set({ override: status ?? null });
  await set.where('account_id', '=', accountId).where('is_locked', '=', 1n).execute();
}

/**
 * The status that people set against the object of an account. It ends when the object declares another `spec` than the
 * controller saw last.
 */
export async function overriddenStatus(
  transaction: Transaction<Schema>,
  accountId: string,
  spec: string,
): Promise<KeyStatus | undefined> {
  const row = await transaction
    .selectFrom('declarations')
    .select(['spec', 'override'])
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  // The controller declares each key again and again.
  if (row?.spec === spec) return row.override ?? undefined;
  const override = row?.spec === null ? row.override : null;
  await transaction.updateTable('declarations').set({ spec, override }).where('account_id', '=', accountId).execute();
  return override ?? undefined;
}

interface DeclaredAccount {
  readonly id: string;
  readonly state: Schema['declarations']['state'];
  readonly since: number;
}

/** The accounts that an object has declared, also when it was another object of the same name. */
export async function accountsOf(
  transaction: Transaction<Schema>,
  kind: AccountKind,
  { namespace, name }: AccountObjectName,
): Promise<readonly DeclaredAccount[]> {
  const rows = await transaction
    .selectFrom('declarations')
    .select(['account_id', 'state', 'since'])
    .where('kind', '=', kind)
    .where('namespace', '=', namespace)
    .where('name', '=', name)
    .orderBy('since')
    .execute();
  return rows.map((row) => ({ id: row.account_id, state: row.state, since: Number(row.since) }));
}

/** The id of the account that an object has now. */
export async function currentAccountOf(
  transaction: Transaction<Schema>,
  kind: AccountKind,
  object: AccountObjectName,
): Promise<string | undefined> {
  return (await accountsOf(transaction, kind, object)).find(({ state }) => state === 'current')?.id;
}

/** Records that an object declares an account, or whether it is the only one to change it. */
export async function declare(
  transaction: Transaction<Schema>,
  accountId: string,
  declared: {
    readonly kind: AccountKind;
    readonly by: Declarer;
    readonly at: number;
    /** Default: `current`. */
    readonly state?: DeclaredAccount['state'];
  },
): Promise<void> {
  const { kind, at, state = 'current' } = declared;
  const { namespace, name, isManaging } = declared.by;
  const is_locked = isManaging ? 1n : 0n;
  await transaction
    .insertInto('declarations')
    .values({ account_id: accountId, kind, namespace, name, is_locked, state, since: BigInt(at) })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ is_locked, state }))
    .execute();
}

/** Sets the state of an account, and with `at` the time since which it has been so. */
export async function setState(
  transaction: Transaction<Schema>,
  accountId: string,
  change: { readonly state: DeclaredAccount['state']; readonly at?: number },
): Promise<void> {
  const { state, at } = change;
  await transaction
    .updateTable('declarations')
    .set({ state, ...(at !== undefined && { since: BigInt(at) }) })
    .where('account_id', '=', accountId)
    .execute();
}

/** Lets commands and the admin API change the accounts of an object again, because the object is gone. */
export async function unlock(
  transaction: Transaction<Schema>,
  kind: AccountKind,
  { namespace, name }: AccountObjectName,
): Promise<void> {
  await transaction
    .updateTable('declarations')
    .set({ is_locked: 0n })
    .where('kind', '=', kind)
    .where('namespace', '=', namespace)
    .where('name', '=', name)
    .execute();
}

/**
 * Unlocks the accounts of a namespace whose objects are not in the list: they went without the controller, for example
 * when the cluster's database was restored to a time before them. Neither money nor access changes. Returns their number.
 */
export async function unlockAbsent(
  queries: Kysely<Schema>,
  namespace: string,
  present: Readonly<Record<AccountKind, readonly string[]>>,
): Promise<number> {
  return queries.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('declarations')
      .select(['account_id', 'kind', 'name'])
      .where('namespace', '=', namespace)
      .where('is_locked', '=', 1n)
      .execute();
    const names = new Map(Object.entries(present).map(([kind, list]) => [kind, new Set(list)]));
    const absent = rows.filter(({ kind, name }) => names.get(kind)?.has(name) !== true).map((row) => row.account_id);
    for (const id of absent) {
      await transaction.updateTable('declarations').set({ is_locked: 0n }).where('account_id', '=', id).execute();
    }
    return absent.length;
  });
}
