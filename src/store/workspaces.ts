import type { Kysely, Selectable, Transaction } from 'kysely';
import type { AccountStatus, Workspace } from '../core/account.ts';
import { formatUsd, maxBalance, type Money } from '../core/money.ts';
import { type AuditAction, type AuditedObject, type Authorship, recordChange } from './audit.ts';
import { reservedFor } from './reservations.ts';
import type { Schema } from './schema.ts';
import { randomBytes } from 'node:crypto';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const idPattern = /^ws_[0-9a-f]{20}$/;

export interface NewWorkspace {
  readonly name: string;
  readonly credit: Money;
  readonly maxInFlight: number;
}

/** Makes a workspace with its first credit. Throws a `Refusal` for a malformed or existing name, and for a credit past the cap. */
export async function createWorkspace(
  queries: Kysely<Schema>,
  wanted: NewWorkspace,
  by: Authorship,
): Promise<Workspace> {
  const { name, credit, maxInFlight } = wanted;
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
      created_at: BigInt(by.now),
    } as const;
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('workspaces')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst();
    if (inserted !== 1n) throw new Refusal(`There is already a workspace named "${name}".`);
    if (credit > 0n) {
      await insertCredit(transaction, { workspaceId: row.id, amount: credit, note: undefined, now: by.now });
    }
    const made = workspaceOf(row);
    await record(transaction, { action: 'workspace.create', before: undefined, after: made }, by);
    return made;
  });
}

export async function listWorkspaces(queries: Kysely<Schema>): Promise<readonly Workspace[]> {
  const rows = await queries.selectFrom('workspaces').selectAll().orderBy('name').execute();
  return rows.map(workspaceOf);
}

/** Finds a workspace by its name or its id. Throws a `Refusal` when there is none. */
export async function findWorkspace(queries: Kysely<Schema>, nameOrId: string): Promise<Workspace> {
  const column = nameColumn(nameOrId);
  const row = await queries.selectFrom('workspaces').selectAll().where(column, '=', nameOrId).executeTakeFirst();
  if (!row) throw noWorkspace(nameOrId);
  return workspaceOf(row);
}

/**
 * The same for a workspace that is about to be changed: until the transaction ends nobody else changes it, so that the audit trail
 * tells what it was right before.
 */
async function lockWorkspace(transaction: Transaction<Schema>, nameOrId: string): Promise<Workspace> {
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
  return new Refusal(`There is no workspace ${named} "${nameOrId}". \`weir workspace list\` shows them all.`);
}

export interface Credit {
  /** Below zero for a correction. */
  readonly amount: Money;
  /** What it is for. A correction needs one. */
  readonly note: string | undefined;
}

/**
 * Adds a credit to a balance and records it, or takes a correction from it. Throws a `Refusal` for an amount of zero, a credit that
 * would pass the cap, and a correction without a note or beyond what the books allow: the balance less what is reserved for requests
 * under way, as the services told it within the last second. A request that comes at the same moment may still overspend.
 */
export async function creditWorkspace(
  queries: Kysely<Schema>,
  nameOrId: string,
  credit: Credit,
  by: Authorship,
): Promise<Workspace> {
  const { amount } = credit;
  const note = noteOf(credit);
  if (amount > maxBalance) throw pastCap(nameOrId, amount);
  return queries.transaction().execute(async (transaction) => {
    const workspace = await lockWorkspace(transaction, nameOrId);
    const balance = workspace.balance + amount;
    if (balance > maxBalance) throw pastCap(workspace.name, balance);
    if (amount < 0n) {
      const reserved = await reservedFor(transaction, workspace.id, by.now);
      if (balance < reserved) throw beyondBooks(workspace, { amount, reserved });
    }
    const after = { ...workspace, balance };
    await transaction.updateTable('workspaces').set({ balance }).where('id', '=', workspace.id).execute();
    await insertCredit(transaction, { workspaceId: workspace.id, amount, note, now: by.now });
    const about = { credit: formatUsd(amount), note: note ?? null };
    await record(transaction, { action: 'workspace.credit', before: workspace, after, about }, by);
    return after;
  });
}

const longestNote = 500;

function noteOf({ amount, note = '' }: Credit): string | undefined {
  if (amount === 0n) throw new Refusal('A credit must be more than 0 USD, or less than 0 for a correction.');
  const text = oneLine(note, { what: 'A note', most: longestNote });
  if (amount < 0n && text === undefined) {
    throw new Refusal('A correction takes money from a workspace: say why with a note (--note TEXT).');
  }
  return text;
}

/** Suspends a workspace or ends its suspension. Repeating it changes nothing. */
export async function setWorkspaceStatus(
  queries: Kysely<Schema>,
  nameOrId: string,
  status: AccountStatus,
  by: Authorship,
): Promise<Workspace> {
  const action = status === 'active' ? 'workspace.resume' : 'workspace.suspend';
  return change(queries, nameOrId, { action, columns: { status }, by });
}

/** Changes how many requests of a workspace may be under way at once. Requests that are under way go on. */
export async function setWorkspaceLimits(
  queries: Kysely<Schema>,
  nameOrId: string,
  { maxInFlight }: Pick<Workspace, 'maxInFlight'>,
  by: Authorship,
): Promise<Workspace> {
  return change(queries, nameOrId, { action: 'workspace.limits', columns: { max_in_flight: BigInt(maxInFlight) }, by });
}

async function change(
  queries: Kysely<Schema>,
  nameOrId: string,
  wanted: {
    readonly action: AuditAction;
    readonly columns: Partial<Pick<Schema['workspaces'], 'status' | 'max_in_flight'>>;
    readonly by: Authorship;
  },
): Promise<Workspace> {
  const { action, columns, by } = wanted;
  return queries.transaction().execute(async (transaction) => {
    const before = await lockWorkspace(transaction, nameOrId);
    const row = await transaction
      .updateTable('workspaces')
      .set(columns)
      .where('id', '=', before.id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const after = workspaceOf(row);
    await record(transaction, { action, before, after }, by);
    return after;
  });
}

async function record(
  transaction: Transaction<Schema>,
  changed: {
    readonly action: AuditAction;
    readonly before: Workspace | undefined;
    readonly after: Workspace;
    /** What the trail says besides. */
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

function auditedWorkspace({ name, status, balance, maxInFlight }: Workspace): AuditedObject {
  return { name, status, balance: formatUsd(balance), max_in_flight: maxInFlight };
}

export function workspaceOf(row: Selectable<Schema['workspaces']>): Workspace {
  const { id, name, status, balance } = row;
  return { id, name, status, balance, maxInFlight: Number(row.max_in_flight) };
}

async function insertCredit(
  transaction: Transaction<Schema>,
  credit: Credit & { readonly workspaceId: string; readonly now: number },
): Promise<void> {
  await transaction
    .insertInto('credits')
    .values({
      id: newId('credit'),
      workspace_id: credit.workspaceId,
      amount: credit.amount,
      created_at: BigInt(credit.now),
      note: credit.note ?? null,
    })
    .execute();
}

/** `$2.5`, `-$2.5`. */
function dollars(amount: Money): string {
  return amount < 0n ? `-$${formatUsd(-amount)}` : `$${formatUsd(amount)}`;
}

function pastCap(name: string, balance: Money): Refusal {
  return new Refusal(
    `The balance of "${name}" would be $${formatUsd(balance)}; a workspace holds at most $${formatUsd(maxBalance)}.`,
  );
}

function beyondBooks(
  { name, balance }: Workspace,
  { amount, reserved }: { readonly amount: Money; readonly reserved: Money },
): Refusal {
  const held =
    reserved > 0n ? `, and $${formatUsd(reserved)} is reserved for requests under way. Wait until they have ended` : '';
  return new Refusal(
    `A correction of ${dollars(amount)} is more than the books allow: the balance of "${name}" is ${dollars(balance)}${held}.`,
  );
}

/** Line breaks, what moves the cursor of a terminal, and what turns the direction of the text after it. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** A text that an operator gives an object, without blanks around it; undefined when nothing is left. Throws a `Refusal`. */
export function oneLine(
  text: string,
  { what, most }: { readonly what: string; readonly most: number },
): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > most || unprintable.test(trimmed)) {
    throw new Refusal(`${what} must be one line of at most ${most} characters.`);
  }
  return trimmed === '' ? undefined : trimmed;
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
