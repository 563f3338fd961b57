import type { Kysely, Selectable, Transaction } from 'kysely';
import type { AccountStatus, Workspace } from '../core/account.ts';
import { formatUsd, maxBalance, type Money } from '../core/money.ts';
import type { Schema } from './schema.ts';
import { randomBytes } from 'node:crypto';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const idPattern = /^ws_[0-9a-f]{20}$/;

export interface NewWorkspace {
  readonly name: string;
  readonly credit: Money;
  readonly maxInFlight: number;
  readonly now: number;
}

/** Makes a workspace with its first credit. Throws a `Refusal` for a malformed or existing name, and for a credit past the cap. */
export async function createWorkspace(queries: Kysely<Schema>, wanted: NewWorkspace): Promise<Workspace> {
  const { name, credit, maxInFlight, now } = wanted;
  if (!namePattern.test(name) || idPattern.test(name)) {
    throw new Refusal(
      `"${name}" cannot be the name of a workspace: it takes 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or a digit.`,
    );
  }
  if (credit > maxBalance) throw pastCap(name, credit);
  return queries.transaction().execute(async (transaction) => {
    const row = {
      id: newId('ws'),
      name,
      status: 'active',
      balance: credit,
      max_in_flight: BigInt(maxInFlight),
      created_at: BigInt(now),
    } as const;
    const { numInsertedOrUpdatedRows: made } = await transaction
      .insertInto('workspaces')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst();
    if (made !== 1n) throw new Refusal(`There is already a workspace named "${name}".`);
    if (credit > 0n) await insertCredit(transaction, { workspaceId: row.id, amount: credit, now });
    return workspaceOf(row);
  });
}

export async function listWorkspaces(queries: Kysely<Schema>): Promise<readonly Workspace[]> {
  const rows = await queries.selectFrom('workspaces').selectAll().orderBy('name').execute();
  return rows.map(workspaceOf);
}

/** Finds a workspace by its name or its id. Throws a `Refusal` when there is none. */
export async function findWorkspace(queries: Kysely<Schema>, nameOrId: string): Promise<Workspace> {
  const column = idPattern.test(nameOrId) ? 'id' : 'name';
  const row = await queries.selectFrom('workspaces').selectAll().where(column, '=', nameOrId).executeTakeFirst();
  if (!row) {
    throw new Refusal(
      `There is no workspace ${column === 'id' ? 'with the id' : 'named'} "${nameOrId}". \`weir workspace list\` shows them all.`,
    );
  }
  return workspaceOf(row);
}

/** Adds a credit to a balance and records it. Throws a `Refusal` for an amount that is not above zero or would pass the cap. */
export async function creditWorkspace(
  queries: Kysely<Schema>,
  nameOrId: string,
  credit: { readonly amount: Money; readonly now: number },
): Promise<Workspace> {
  const { amount, now } = credit;
  if (amount <= 0n) throw new Refusal('A credit must be more than 0 USD.');
  if (amount > maxBalance) throw pastCap(nameOrId, amount);
  return queries.transaction().execute(async (transaction) => {
    const workspace = await findWorkspace(transaction, nameOrId);
    // The database adds and checks the cap in one statement, so that concurrent credits and settlements all count.
    const changed = await transaction
      .updateTable('workspaces')
      .set((columns) => ({ balance: columns('balance', '+', amount) }))
      .where('id', '=', workspace.id)
      .where('balance', '<=', maxBalance - amount)
      .returningAll()
      .executeTakeFirst();
    if (!changed) throw pastCap(workspace.name, workspace.balance + amount);
    await insertCredit(transaction, { workspaceId: workspace.id, amount, now });
    return workspaceOf(changed);
  });
}

/** Suspends a workspace or ends its suspension. Repeating it changes nothing. */
export async function setWorkspaceStatus(
  queries: Kysely<Schema>,
  nameOrId: string,
  status: AccountStatus,
): Promise<Workspace> {
  return queries.transaction().execute(async (transaction) => {
    const workspace = await findWorkspace(transaction, nameOrId);
    await transaction.updateTable('workspaces').set({ status }).where('id', '=', workspace.id).execute();
    return { ...workspace, status };
  });
}

/** Changes how many requests of a workspace may be under way at once. Requests that are under way go on. */
export async function setWorkspaceLimits(
  queries: Kysely<Schema>,
  nameOrId: string,
  { maxInFlight }: Pick<Workspace, 'maxInFlight'>,
): Promise<Workspace> {
  return queries.transaction().execute(async (transaction) => {
    const workspace = await findWorkspace(transaction, nameOrId);
    const columns = { max_in_flight: BigInt(maxInFlight) };
    await transaction.updateTable('workspaces').set(columns).where('id', '=', workspace.id).execute();
    return findWorkspace(transaction, workspace.id);
  });
}

export function workspaceOf(row: Selectable<Schema['workspaces']>): Workspace {
  const { id, name, status, balance } = row;
  return { id, name, status, balance, maxInFlight: Number(row.max_in_flight) };
}

async function insertCredit(
  transaction: Transaction<Schema>,
  credit: { readonly workspaceId: string; readonly amount: Money; readonly now: number },
): Promise<void> {
  await transaction
    .insertInto('credits')
    .values({
      id: newId('credit'),
      workspace_id: credit.workspaceId,
      amount: credit.amount,
      created_at: BigInt(credit.now),
    })
    .execute();
}

function pastCap(name: string, balance: Money): Refusal {
  return new Refusal(
    `The balance of "${name}" would be $${formatUsd(balance)}; a workspace holds at most $${formatUsd(maxBalance)}.`,
  );
}

/** An operator's command that cannot be done as asked. The message is a sentence for the operator. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Refusal';
  }
}

/** A new id such as `ws_9f86d081884c7d659a2f`: the prefix says what it names, 80 random bits make it unique. */
export function newId(prefix: 'ws' | 'key' | 'credit'): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}
