/** The outcome of each declared object's last reconcile: settled, or tried again after a delay. */
import type { AccountKind, AccountObject } from '../../books/core/declared-account.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import type { Statement } from '../catalog/conditions.ts';
import { specOf } from '../core/raw-object.ts';

export type ObjectId = `${AccountKind}/${string}/${string}`;

interface Settled {
  readonly uid: string;
  readonly version: string;
  readonly isAccepted: boolean;
}

interface Retry {
  readonly version: string;
  readonly delayMs: number;
  /** The Workspace of a key or a credit. */
  readonly payer: ObjectId | undefined;
  readonly cancel: CancelTimer;
}

const soonestRetryMs = 250;

export const idOf = ({ kind, namespace, name }: Pick<AccountObject, 'kind' | 'namespace' | 'name'>): ObjectId =>
  `${kind}/${namespace}/${name}`;

/** The Workspace that pays for an object. */
function payerOf({ kind, namespace, declared }: AccountObject): ObjectId | undefined {
  const { workspace: name } = kind === 'Workspace' ? {} : specOf(declared);
  return typeof name === 'string' ? idOf({ kind: 'Workspace', namespace, name }) : undefined;
}

const versions = new WeakMap<AccountObject, string>();

/** Everything of an object that a reconciliation depends on. Its status is not part of it. */
export function versionOf(object: AccountObject): string {
  const { uid, generation, deletedAt, annotations } = object;
  return versions.getOrInsertComputed(object, () => JSON.stringify([uid, generation, deletedAt, annotations]));
}

/** The conditions of the objects of which one is False. */
export type FaultyAccounts = Map<ObjectId, readonly Statement[]>;

/** Keeps `faulty` as it is now. */
export function createAccountOutcomes(
  clock: Clock,
  { retryNow, faulty }: { readonly retryNow: (id: ObjectId) => void; readonly faulty: FaultyAccounts },
) {
  const settled = new Map<ObjectId, Settled>();
  const retries = new Map<ObjectId, Retry>();
  /** Objects that are tried again because they may wait for their Workspace, by its id. */
  const waiters = new Map<ObjectId, Set<ObjectId>>();

  function dropRetry(id: ObjectId): void {
    const dropped = retries.get(id);
    if (dropped === undefined) return;
    dropped.cancel();
    retries.delete(id);
    const { payer } = dropped;
    if (payer === undefined) return;
    const others = waiters.get(payer);
    others?.delete(id);
    if (others?.size === 0) waiters.delete(payer);
  }

  function tryNow(id: ObjectId): void {
    dropRetry(id);
    retryNow(id);
  }

  function wake(workspace: ObjectId): void {
    for (const waiter of waiters.get(workspace) ?? []) tryNow(waiter);
  }

  function forget(id: ObjectId): void {
    settled.delete(id);
    faulty.delete(id);
    dropRetry(id);
  }

  return {
    /** Whether this version of the object has been settled, or waits for its next try. */
    has: (id: ObjectId, version: string): boolean =>
      settled.get(id)?.version === version || retries.get(id)?.version === version,
    isRetried: (id: ObjectId): boolean => retries.has(id),
    /** Nothing is left to do for this version. Retries the objects that may have waited for it. */
    settle: (object: AccountObject, isAccepted: boolean): void => {
      const id = idOf(object);
      dropRetry(id);
      const { uid } = object;
      const before = settled.get(id);
      const isNew = before?.uid !== uid || (isAccepted && !before.isAccepted);
      settled.set(id, { uid, version: versionOf(object), isAccepted });
      const payer = payerOf(object);
      // Other objects may have waited for their Workspace, and a Workspace that leaves for its keys, as may another key
      // that names the same Secret.
      if (payer === undefined && isNew) wake(id);
      if (payer === undefined || object.deletedAt === undefined) return;
      if (retries.has(payer)) tryNow(payer);
      wake(payer);
    },
    /** Tries the object again, each time after a longer delay of at most `latestMs`. */
    retryLater: (object: AccountObject, latestMs: number): void => {
      const id = idOf(object);
      const version = versionOf(object);
      const before = retries.get(id);
      dropRetry(id);
      const delayMs = before?.version === version ? Math.min(latestMs, before.delayMs * 2) : soonestRetryMs;
      const payer = payerOf(object);
      retries.set(id, { version, delayMs, payer, cancel: clock.after(delayMs, () => retryNow(id)) });
      if (payer === undefined) return;
      waiters.getOrInsertComputed(payer, () => new Set()).add(id);
    },
    dropRetry,
    /** The conditions of the last reconcile. */
    note: (id: ObjectId, statements: readonly Statement[]): void => {
      if (statements.some(({ status }) => status === 'False')) faulty.set(id, statements);
      else faulty.delete(id);
    },
    forget,
    keepOnly: (ids: ReadonlySet<ObjectId>): void => {
      for (const id of [...settled.keys(), ...retries.keys(), ...faulty.keys()]) if (!ids.has(id)) forget(id);
    },
    clear: (): void => {
      for (const { cancel } of retries.values()) cancel();
      for (const map of [settled, retries, waiters, faulty]) map.clear();
    },
  };
}
