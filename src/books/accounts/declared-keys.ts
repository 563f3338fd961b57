import type { Kysely, Transaction } from 'kysely';
import type { Authorship, Budget, KeyRecord } from '../core/administration.ts';
import type { AccountObjectName, DeclaredKey, Declarer, KeyDeclared } from '../core/declared-account.ts';
import { comparableText } from '../../core/json.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { inheritSpending } from './budget-spending.ts';
import { changeLockedKey } from './change-keys.ts';
import { accountsOf, declarationOf, declare, overriddenStatus, setState, unlock } from './declarations.ts';
import { spentBy } from './find-credentials.ts';
import { findKey, insertKey } from './keys.ts';
import { ownThresholds } from './thresholds.ts';

// Keys that objects declare. The key in the Secret of an ApiKey is its current key. A rotation keeps the id of the
// current key, with its budget and its history, and gives it another text. The text before goes to a second key, which
// expires after the overlap.

/**
 * Makes a key that an object will have in its Secret. It works from now on, so that the Secret never has a key that
 * does not work. If the Secret is not written, the next preparation gives the key another text, and the next
 * `declareKey` revokes it: however often a Secret is not written, it is one key.
 */
export async function prepareKey(
  queries: Kysely<Schema>,
  object: Declarer,
  wanted: DeclaredKey,
  by: Authorship,
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const prepared = await preparedKey(transaction, object, wanted);
    if (prepared === undefined) {
      const { id } = await insertKey(transaction, wanted, by);
      await declare(transaction, id, { kind: 'ApiKey', by: object, at: by.now, state: 'pending' });
      return;
    }
    const { hash, prefix } = wanted;
    await transaction.updateTable('keys').set({ hash, prefix }).where('id', '=', prepared).execute();
    await changeLockedKey(transaction, prepared, wanted, by);
  });
}

/** The id of a key that was prepared for an object before, and whose text nobody has. */
async function preparedKey(
  transaction: Transaction<Schema>,
  object: AccountObjectName,
  { workspaceId }: DeclaredKey,
): Promise<string | undefined> {
  for (const { id, state } of await accountsOf(transaction, 'ApiKey', object)) {
    if (state !== 'pending') continue;
    const key = await findKey(transaction, id);
    if (key.status !== 'revoked' && key.workspaceId === workspaceId) return id;
  }
  return undefined;
}

/**
 * Makes the key in the Secret of an object its current key, with the object's settings. A key is known by its hash: a new
 * one is made, a prepared one promoted, and one of the same workspace that no object declares is taken. The text that the
 * object had before works for `overlapMs`.
 */
export async function declareKey(
  queries: Kysely<Schema>,
  object: Declarer,
  wanted: DeclaredKey & { readonly overlapMs: number },
  by: Authorship,
): Promise<KeyDeclared> {
  return queries.transaction().execute(async (transaction): Promise<KeyDeclared> => {
    const found = await findByHash(transaction, wanted.hash);
    const refused = found && (await whyRefused(transaction, found, { object, wanted }));
    if (refused !== undefined) return { kind: refused };
    const before = await usableCurrent(transaction, object);
    const id = await makeCurrent(transaction, { object, wanted, found, before, by });
    const isMade = found === undefined && before === undefined;
    const override = await overriddenStatus(transaction, id, specText(wanted));
    const applied = { ...wanted, status: override ?? wanted.status };
    if (object.isManaging || isMade) await changeLockedKey(transaction, id, applied, by);
    const { prefix, status } = await findKey(transaction, id);
    const previous = await endOthers(transaction, { object, id, status, wanted: applied, by });
    const since = (await accountsOf(transaction, 'ApiKey', object)).find((one) => one.id === id)?.since ?? by.now;
    const hasReplaced = before !== undefined && before.hash !== wanted.hash;
    return {
      ...{
        kind: 'declared',
        id,
        prefix,
        isSuspended: status === 'suspended',
        isOverridden: status !== wanted.status,
        since,
        previous,
      },
      ...{ isNew: before === undefined || hasReplaced, hasReplaced },
    };
  });
}

/** The fields that an object declares, without the text of its key, as one text to compare. */
const specText = ({ hash: _, prefix: __, ...spec }: DeclaredKey): string => comparableText(spec);

type FoundKey = Pick<KeyRecord, 'id' | 'workspaceId' | 'status' | 'isOfPlayground'> & { readonly hash: string };

async function findByHash(transaction: Transaction<Schema>, hash: string): Promise<FoundKey | undefined> {
  const row = await transaction.selectFrom('keys').select('id').where('hash', '=', hash).executeTakeFirst();
  return row && { ...(await findKey(transaction, row.id)), hash };
}

async function whyRefused(
  transaction: Transaction<Schema>,
  key: FoundKey,
  { object, wanted }: { readonly object: Declarer; readonly wanted: DeclaredKey },
): Promise<'ended' | 'taken' | undefined> {
  const declared = await declarationOf(transaction, key.id);
  const isOthers = declared !== undefined && (declared.namespace !== object.namespace || declared.name !== object.name);
  if (isOthers || key.workspaceId !== wanted.workspaceId || key.isOfPlayground) return 'taken';
  const own = (await accountsOf(transaction, 'ApiKey', object)).find(({ id }) => id === key.id);
  return key.status === 'revoked' || own?.state === 'replaced' ? 'ended' : undefined;
}

/** The key that the object has now. A revoked one is put away, so that another can take its place. */
async function usableCurrent(
  transaction: Transaction<Schema>,
  object: AccountObjectName,
): Promise<FoundKey | undefined> {
  const own = (await accountsOf(transaction, 'ApiKey', object)).find(({ state }) => state === 'current');
  if (own === undefined) return undefined;
  const { hash } = await transaction
    .selectFrom('keys')
    .select('hash')
    .where('id', '=', own.id)
    .executeTakeFirstOrThrow();
  const key = await findKey(transaction, own.id);
  if (key.status !== 'revoked') return { ...key, hash };
  await setState(transaction, own.id, { state: 'replaced' });
  return undefined;
}

interface Making {
  readonly object: Declarer;
  readonly wanted: DeclaredKey;
  readonly found: FoundKey | undefined;
  readonly before: FoundKey | undefined;
  readonly by: Authorship;
}

/** Returns the id of the key that is current now. */
async function makeCurrent(
  transaction: Transaction<Schema>,
  { object, wanted, found, before, by }: Making,
): Promise<string> {
  if (found !== undefined && found.id === before?.id) {
    await declare(transaction, found.id, { kind: 'ApiKey', by: object, at: by.now });
    return found.id;
  }
  const isTaken = found !== undefined && (await declarationOf(transaction, found.id)) === undefined;
  const other = found?.id ?? (await insertKey(transaction, wanted, by)).id;
  if (before === undefined || isTaken) {
    if (before !== undefined) {
      await setState(transaction, before.id, { state: 'replaced' });
      await inheritSpending(transaction, { from: before.id, to: other }, by.now);
    }
    await declare(transaction, other, { kind: 'ApiKey', by: object, at: by.now });
    return other;
  }
  await declare(transaction, other, { kind: 'ApiKey', by: object, at: by.now, state: 'replaced' });
  await swapTexts(transaction, { current: before, other, by });
  return before.id;
}

/** The current key gets the text of the other one, and the other one the text that the current key had. */
async function swapTexts(
  transaction: Transaction<Schema>,
  { current, other, by }: { readonly current: FoundKey; readonly other: string; readonly by: Authorship },
): Promise<void> {
  const textOf = async (id: string) =>
    transaction.selectFrom('keys').select(['hash', 'prefix']).where('id', '=', id).executeTakeFirstOrThrow();
  const [old, fresh] = [await textOf(current.id), await textOf(other)];
  const write = async (id: string, text: { readonly hash: string; readonly prefix: string | null }): Promise<unknown> =>
    transaction.updateTable('keys').set(text).where('id', '=', id).execute();
  // Hashes are unique at every moment. No text has such a hash.
  await write(other, { hash: `swapped ${other}`, prefix: null });
  await write(current.id, fresh);
  await write(other, old);
  await setState(transaction, current.id, { state: 'current', at: by.now });
  // The earlier text can spend only what is left of the budget. Its key has the thresholds of the current key.
  const { budget } = await findKey(transaction, current.id);
  if (budget !== undefined) {
    const spent = (await spentBy(transaction, [current.id], by.now)).get(current.id) ?? 0n;
    const left: Budget = { limit: budget.limit > spent ? budget.limit - spent : 0n, period: 'total' };
    const thresholds = (await ownThresholds(transaction, [current.id])).get(current.id);
    await changeLockedKey(transaction, other, { budget: left, thresholds }, by);
  }
  const entry = { action: 'key.rotate', objectId: current.id, workspaceId: current.workspaceId } as const;
  await recordChange(transaction, { ...entry, before: { prefix: old.prefix }, after: { prefix: fresh.prefix } }, by);
}

interface Others {
  readonly object: Declarer;
  /** Id and status of the current key. */
  readonly id: string;
  readonly status: KeyRecord['status'];
  readonly wanted: DeclaredKey & { readonly overlapMs: number };
  readonly by: Authorship;
}

/** Revokes prepared keys that never came into the Secret, and ends replaced keys after the overlap. Returns a replaced key that still works. */
async function endOthers(
  transaction: Transaction<Schema>,
  { object, id, status, wanted, by }: Others,
): Promise<{ readonly prefix: string | undefined; readonly expiresAt: number } | undefined> {
  let working: { readonly prefix: string | undefined; readonly expiresAt: number } | undefined;
  for (const account of await accountsOf(transaction, 'ApiKey', object)) {
    if (account.id === id) continue;
    const other = await findKey(transaction, account.id);
    if (other.status === 'revoked') continue;
    const overlapEnd = account.state === 'pending' ? by.now : by.now + wanted.overlapMs;
    const expiresAt = Math.min(other.expiresAt ?? Infinity, overlapEnd);
    if (account.state === 'pending') await setState(transaction, account.id, { state: 'replaced' });
    if (expiresAt <= by.now) await changeLockedKey(transaction, account.id, { status: 'revoked' }, by);
    else {
      // A suspension by others holds for the text before, too, and ends only by others.
      const override = await overriddenStatus(transaction, account.id, specText(wanted));
      const asCurrent = status === 'suspended' ? status : other.status;
      const next = override ?? (object.isManaging ? wanted.status : asCurrent);
      await changeLockedKey(transaction, account.id, { status: next, expiresAt }, by);
      working = { prefix: other.prefix, expiresAt };
    }
  }
  return working;
}

/**
 * Revokes all keys of an object, also those that it had before. An object that manages nothing only lets them go. Returns
 * their number.
 */
export async function leaveKeys(queries: Kysely<Schema>, object: Declarer, by: Authorship): Promise<number> {
  return queries.transaction().execute(async (transaction) => {
    let revoked = 0;
    for (const { id } of await accountsOf(transaction, 'ApiKey', object)) {
      const { status } = await findKey(transaction, id);
      if (status === 'revoked' || !object.isManaging) continue;
      await changeLockedKey(transaction, id, { status: 'revoked' }, by);
      revoked += 1;
    }
    await unlock(transaction, 'ApiKey', object);
    return revoked;
  });
}
