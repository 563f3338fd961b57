import type { Credential, Key, Workspace } from '../core/account.ts';
import { periodStart } from './budget-period.ts';
import type { Money } from '../core/money.ts';
import type { Spending } from './settle-batch.ts';
import { Failure } from '../core/failure.ts';

/** What is remembered of a hash. */
export interface Remembered {
  /** Undefined when there was no such key. */
  readonly credential: Credential | undefined;
  /** When it was read or confirmed last, monotonic milliseconds. */
  readonly confirmedAt: number;
  /** Something was changed by somebody since. */
  readonly isDoubted: boolean;
}

/** Both clocks: a period ends by the one, an age is counted by the other. */
export interface Moment {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Monotonic milliseconds. */
  readonly elapsed: number;
}

export interface CredentialCache {
  readonly get: (hash: string, at: Moment) => Remembered | undefined;
  readonly put: (hash: string, credential: Credential | undefined, at: Moment) => void;
  /** A settlement of ours has changed the balance to this. */
  readonly setBalance: (workspaceId: string, balance: Money) => void;
  /** A settlement of ours, which the database does not know of yet, will take this from the balance. */
  readonly charge: (workspaceId: string, cost: Money) => void;
  /** A settlement of ours has added to what a key has spent. */
  readonly spend: (spending: Spending, at: Moment) => void;
  /** All that is not doubted was still so at this moment. */
  readonly confirm: (elapsed: number) => void;
  /** Another process has changed something: all is doubted, though still remembered. */
  readonly doubt: () => void;
  /** The hashes of keys that were asked for since they were last taken, at most `most`: those worth reading again before they are asked for. */
  readonly takeUsed: (most: number) => readonly string[];
}

interface Confirmation {
  confirmedAt: number;
  /** Of which generation; a change begins the next. */
  generation: number;
}

interface KeyEntry extends Confirmation {
  readonly key: Key;
  /** In the budget's period that began at `since`. */
  spent: Money;
  since: number;
}

/**
 * Remembers what was found for the hashes of keys, and what was not: strangers who try keys push out only the memory of other
 * strangers, never that of a customer. Holds at most `limit` of each; the oldest goes first.
 */
export function createCredentialCache(limit: number): CredentialCache {
  const keys = new Map<string, KeyEntry>();
  const absent = new Map<string, Confirmation>();
  const workspaces = new Map<string, Workspace>();
  const hashOf = new Map<string, string>();
  const used = new Set<string>();
  let generation = 0;
  /** For all of this generation. */
  let confirmedAt: number | undefined;

  function confirmation(entry: Confirmation): Pick<Remembered, 'confirmedAt' | 'isDoubted'> {
    if (entry.generation !== generation) return { confirmedAt: entry.confirmedAt, isDoubted: true };
    return { confirmedAt: Math.max(entry.confirmedAt, confirmedAt ?? 0), isDoubted: false };
  }

  /** Begins anew with the period, as a budget does. */
  function turnOver(entry: KeyEntry, now: number): void {
    const { budget } = entry.key;
    const since = budget === undefined ? 0 : periodStart(budget.period, now);
    if (since > entry.since) [entry.since, entry.spent] = [since, 0n];
  }

  return {
    get: (hash, { now }) => {
      const entry = keys.get(hash);
      if (entry === undefined) {
        const stranger = absent.get(hash);
        return stranger && { credential: undefined, ...confirmation(stranger) };
      }
      const workspace = workspaces.get(entry.key.workspaceId);
      if (workspace === undefined) return undefined;
      turnOver(entry, now);
      used.add(hash);
      return { credential: { key: entry.key, workspace, spent: entry.spent }, ...confirmation(entry) };
    },
    put: (hash, credential, { now, elapsed }) => {
      if (credential === undefined) {
        keys.delete(hash);
        remember(absent, hash, { confirmedAt: elapsed, generation }, limit);
        return;
      }
      const { key, workspace, spent } = credential;
      const since = key.budget === undefined ? 0 : periodStart(key.budget.period, now);
      absent.delete(hash);
      const forgotten = remember(keys, hash, { key, spent, since, confirmedAt: elapsed, generation }, limit);
      if (forgotten !== undefined) hashOf.delete(forgotten.key.id);
      hashOf.set(key.id, hash);
      remember(workspaces, workspace.id, workspace, limit);
    },
    setBalance: (workspaceId, balance) => {
      const workspace = workspaces.get(workspaceId);
      if (workspace) workspaces.set(workspaceId, { ...workspace, balance });
    },
    charge: (workspaceId, cost) => {
      const workspace = workspaces.get(workspaceId);
      if (workspace) workspaces.set(workspaceId, { ...workspace, balance: workspace.balance - cost });
    },
    spend: ({ keyId, day, amount }, { now }) => {
      const entry = keys.get(hashOf.get(keyId) ?? '');
      if (entry?.key.budget === undefined) return;
      turnOver(entry, now);
      if (day >= entry.since) entry.spent += amount;
    },
    confirm: (elapsed) => {
      confirmedAt = elapsed;
    },
    doubt: () => {
      if (confirmedAt !== undefined) {
        for (const entries of [keys, absent]) {
          for (const entry of entries.values()) entry.confirmedAt = confirmation(entry).confirmedAt;
        }
      }
      confirmedAt = undefined;
      generation += 1;
    },
    takeUsed: (most) => {
      const taken = [...used].slice(0, most);
      for (const hash of taken) used.delete(hash);
      return taken.filter((hash) => keys.has(hash));
    },
  };
}

/** A Map keeps the order of insertion: its first entry is its oldest. Gives what had to go. */
function remember<Value>(entries: Map<string, Value>, name: string, value: Value, limit: number): Value | undefined {
  entries.delete(name);
  const [oldest] = entries.size < limit ? [] : entries.keys();
  const forgotten = oldest === undefined ? undefined : entries.get(oldest);
  if (oldest !== undefined) entries.delete(oldest);
  entries.set(name, value);
  return forgotten;
}

/** Questions to the store's thread about keys, each asked once however many wait for the answer. */
export interface LookUps {
  /** Rejects with `overloaded` when too many different ones wait. */
  readonly ask: (hash: string) => Promise<Credential | undefined>;
  readonly answer: (hash: string, credential: Credential | undefined) => void;
  readonly refuse: (hash: string, failure: Failure) => void;
  readonly refuseAll: (failure: Failure) => void;
}

const maxWaiting = 10_000;

interface Waiting {
  readonly promise: Promise<Credential | undefined>;
  readonly resolve: (credential: Credential | undefined) => void;
  readonly reject: (failure: Failure) => void;
}

export function createLookUps(send: (hash: string) => void): LookUps {
  const waiting = new Map<string, Waiting>();

  function take(hash: string): Waiting | undefined {
    const found = waiting.get(hash);
    waiting.delete(hash);
    return found;
  }

  return {
    ask: (hash) => {
      const underWay = waiting.get(hash);
      if (underWay) return underWay.promise;
      if (waiting.size >= maxWaiting) {
        return Promise.reject(new Failure('overloaded', 'The service is overloaded. Retry with backoff.'));
      }
      const begun = Promise.withResolvers<Credential | undefined>();
      waiting.set(hash, begun);
      send(hash);
      return begun.promise;
    },
    answer: (hash, credential) => take(hash)?.resolve(credential),
    refuse: (hash, failure) => take(hash)?.reject(failure),
    refuseAll: (failure) => {
      for (const { reject } of waiting.values()) reject(failure);
      waiting.clear();
    },
  };
}
