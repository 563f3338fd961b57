import type { BudgetPeriod, Credential, Key, TagBudget, Workspace } from '../../core/account.ts';
import { periodEnd, periodStart } from '../core/budget-period.ts';
import type { Money } from '../../core/money.ts';
import type { Spending, SpendingOnTag } from '../ledger/settle-batch.ts';
import { Failure } from '../../core/failure.ts';
import type { CountedTags } from '../../core/tags.ts';
import { putNewest } from '../../core/put-newest.ts';

/** What the cache remembers about the hash of a key. */
export interface Remembered {
  /** Undefined when there is no such key. */
  readonly credential: Credential | undefined;
  /** When the credential was read or confirmed last, monotonic milliseconds. */
  readonly confirmedAt: number;
  /**
   * Whether the credential may be stale: since it was read, another process has changed accounts, or the clock was set
   * back into an earlier period of the budget.
   */
  readonly isDoubted: boolean;
}

/** A moment on both clocks: periods end by the wall clock, ages are measured by the monotonic one. */
export interface Moment {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Monotonic milliseconds. */
  readonly elapsed: number;
}

export interface CredentialCache {
  readonly get: (hash: string, at: Moment) => Remembered | undefined;
  readonly put: (hash: string, credential: Credential | undefined, at: Moment) => void;
  /** Sets a balance that a settlement of this process has changed. */
  readonly setBalance: (workspaceId: string, balance: Money) => void;
  /**
   * Subtracts the cost of a row in the journal from the remembered balance. The database subtracts it later, when the
   * row is settled.
   */
  readonly charge: (workspaceId: string, cost: Money) => void;
  /** Adds to the remembered spending of a key or a tag after a settlement of this process. */
  readonly spend: (spending: Spending, at: Moment) => void;
  /** Confirms, as of this moment, everything that is not doubted. */
  readonly confirm: (elapsed: number) => void;
  /** Marks everything as doubted, because another process has changed accounts; nothing is forgotten. */
  readonly doubt: () => void;
  /** Returns at most `most` hashes of keys that were used since the last call, so that they can be read again before they are too old. */
  readonly takeUsed: (max: number) => readonly string[];
  /**
   * Returns at most `max` hashes of keys, used or not, that have been doubted or unconfirmed for too long, the oldest
   * ones first. While the database is down a remembered key is used as it is, so a key that was stopped before must not
   * be remembered as active.
   */
  readonly outdated: (elapsed: number, max: number) => readonly string[];
}

/** How long an unused key is remembered without a confirmation: when a change is known, and when none was reported. */
const unconfirmedMs = { doubted: 500, quiet: 30_000 } as const;

interface Confirmation {
  confirmedAt: number;
  /** The generation in which the entry was confirmed. Every change by another process begins a new generation. */
  generation: number;
}

/** The budgets of a workspace's tags. */
interface TagEntries {
  /** By tag. Each has what was spent in its period of `day`. */
  readonly budgets: Map<string, TagBudget>;
  /** First moment of the day. Every period begins with a day, so nothing else begins one. */
  day: number;
  readonly countedTags: CountedTags | undefined;
  /** A request was counted as another tag than admission knew, so `countedTags` must be read again. */
  isStale: boolean;
}

interface KeyEntry extends Confirmation {
  readonly hash: string;
  readonly key: Key;
  /** Spent in the budget's period that began at `since`. */
  spent: Money;
  since: number;
}

/**
 * Remembers the credentials of keys by their hashes, and hashes that have no key. Each kind has its own limit, above
 * which its oldest entry is removed. So made-up keys evict only other made-up keys, never a customer's.
 */
export function createCredentialCache(limit: number): CredentialCache {
  const keys = new Map<string, KeyEntry>();
  const absent = new Map<string, Confirmation>();
  const workspaces = new Map<string, Workspace>();
  /** The budgets of tags, by workspace. */
  const tagBudgets = new Map<string, TagEntries>();
  const hashOf = new Map<string, string>();
  const used = new Set<string>();
  let generation = 0;
  /** When all entries of this generation were confirmed last. */
  let confirmedAt: number | undefined;

  function confirmation(entry: Confirmation): Pick<Remembered, 'confirmedAt' | 'isDoubted'> {
    if (entry.generation !== generation) return { confirmedAt: entry.confirmedAt, isDoubted: true };
    return { confirmedAt: Math.max(entry.confirmedAt, confirmedAt ?? 0), isDoubted: false };
  }

  return {
    get: (hash, { now }) => {
      const entry = keys.get(hash);
      if (entry === undefined) {
        const unknown = absent.get(hash);
        return unknown && { credential: undefined, ...confirmation(unknown) };
      }
      const workspace = workspaces.get(entry.key.workspaceId);
      if (workspace === undefined) return undefined;
      const ofTags = tagBudgets.get(workspace.id);
      const isOfNow = beginPeriod(entry, now);
      const isPresent = isOfNow && (ofTags === undefined || (beginDay(ofTags, now) && !ofTags.isStale));
      used.add(hash);
      const { confirmedAt: at, isDoubted } = confirmation(entry);
      const known = { key: entry.key, workspace, spent: entry.spent };
      const credential =
        ofTags === undefined ? known : { ...known, tagBudgets: ofTags.budgets, countedTags: ofTags.countedTags };
      return { credential, confirmedAt: at, isDoubted: isDoubted || !isPresent };
    },
    put: (hash, credential, { now, elapsed }) => {
      if (credential === undefined) {
        keys.delete(hash);
        putNewest(absent, limit, [hash, { confirmedAt: elapsed, generation }]);
        return;
      }
      const { key, workspace, spent } = credential;
      const since = key.budget === undefined ? 0 : periodStart(key.budget.period, now);
      absent.delete(hash);
      const forgotten = putNewest(keys, limit, [hash, { hash, key, spent, since, confirmedAt: elapsed, generation }]);
      // A key that was given a new text has a newer entry.
      if (forgotten !== undefined && hashOf.get(forgotten.key.id) === forgotten.hash) hashOf.delete(forgotten.key.id);
      hashOf.set(key.id, hash);
      putNewest(workspaces, limit, [workspace.id, workspace]);
      const { tagBudgets: budgets, countedTags } = credential;
      if (budgets === undefined) tagBudgets.delete(workspace.id);
      else {
        const day = periodStart('day', now);
        putNewest(tagBudgets, limit, [workspace.id, { budgets: new Map(budgets), day, countedTags, isStale: false }]);
      }
    },
    setBalance: (workspaceId, balance) => {
      const workspace = workspaces.get(workspaceId);
      if (workspace) workspaces.set(workspaceId, { ...workspace, balance });
    },
    charge: (workspaceId, cost) => {
      const workspace = workspaces.get(workspaceId);
      if (workspace) workspaces.set(workspaceId, { ...workspace, balance: workspace.balance - cost });
    },
    spend: (spending, { now }) => {
      const { on } = spending;
      if ('tag' in on) {
        const entries = tagBudgets.get(on.workspaceId);
        if (entries !== undefined) spendOnTag(entries, { ...spending, on }, now);
      } else {
        const entry = keys.get(hashOf.get(on.keyId) ?? '');
        if (entry !== undefined) spendOnKey(entry, spending, now);
      }
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
    takeUsed: (max) => {
      const hashes = [...used].slice(0, max);
      for (const hash of hashes) used.delete(hash);
      return hashes.filter((hash) => keys.has(hash));
    },
    outdated: (elapsed, max) => outdatedOf(keys, (entry) => isOutdated(confirmation(entry), elapsed), max),
  };
}

function isOutdated(
  { confirmedAt, isDoubted }: Pick<Remembered, 'confirmedAt' | 'isDoubted'>,
  elapsed: number,
): boolean {
  return elapsed - confirmedAt >= (isDoubted ? unconfirmedMs.doubted : unconfirmedMs.quiet);
}

/** The first entries that are outdated, at most `max`. `put` appends, so the entries are in the order of their confirmation. */
function outdatedOf<Entry>(
  entries: ReadonlyMap<string, Entry>,
  isOld: (entry: Entry) => boolean,
  max: number,
): readonly string[] {
  const hashes: string[] = [];
  for (const [hash, entry] of entries) {
    if (hashes.length >= max || !isOld(entry)) break;
    hashes.push(hash);
  }
  return hashes;
}

/**
 * Sets the spent amount to 0 if a new period of the budget has begun. Returns false if the entry's period lies in the
 * future, because the clock was ahead and was set back. Then the spent amount must be read again.
 */
function beginPeriod(entry: KeyEntry, now: number): boolean {
  const { budget } = entry.key;
  const since = budget === undefined ? 0 : periodStart(budget.period, now);
  if (since > entry.since) [entry.since, entry.spent] = [since, 0n];
  return since === entry.since;
}

/** The same for all tags of a workspace. Looks at the single budgets once a day. */
function beginDay(entries: TagEntries, now: number): boolean {
  const today = periodStart('day', now);
  if (today > entries.day) {
    for (const [tag, budget] of entries.budgets) {
      const isNew = periodStart(budget.period, now) > periodStart(budget.period, entries.day);
      if (isNew) entries.budgets.set(tag, { ...budget, spent: 0n });
    }
    entries.day = today;
  }
  return today === entries.day;
}

function spendOnKey(entry: KeyEntry, { day, amount }: Spending, now: number): void {
  if (entry.key.budget === undefined) return;
  beginPeriod(entry, now);
  if (isOfPeriod(entry.key.budget.period, { day, since: entry.since })) entry.spent += amount;
}

function spendOnTag(
  entries: TagEntries,
  { on, day, amount }: Spending & { readonly on: SpendingOnTag },
  now: number,
): void {
  const budget = entries.budgets.get(on.tag);
  if (budget === undefined) return;
  if (on.replaced) entries.isStale = true;
  beginDay(entries, now);
  if (!isOfPeriod(budget.period, { day, since: entries.day })) return;
  // The new day may have begun a period.
  const { spent } = entries.budgets.get(on.tag) ?? budget;
  entries.budgets.set(on.tag, { ...budget, spent: spent + amount });
}

/** Whether a day is in the same period as another one. A later day was counted by a clock that was ahead. */
function isOfPeriod(period: BudgetPeriod, { day, since }: { readonly day: number; readonly since: number }): boolean {
  return day >= periodStart(period, since) && day < periodEnd(period, since);
}

const maxWaiting = 10_000;

interface Waiting {
  readonly promise: Promise<Credential | undefined>;
  readonly resolve: (credential: Credential | undefined) => void;
  readonly reject: (failure: Failure) => void;
}

/** Look-ups of keys in the store's thread: one for each hash, however many requests wait for it. */
export function createLookUps(send: (hash: string) => void) {
  const waiting = new Map<string, Waiting>();

  function take(hash: string): Waiting | undefined {
    const found = waiting.get(hash);
    waiting.delete(hash);
    return found;
  }

  return {
    /** Rejects with `overloaded` when too many different hashes wait. */
    ask: (hash: string): Promise<Credential | undefined> => {
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
    answer: (hash: string, credential: Credential | undefined): void => take(hash)?.resolve(credential),
    refuse: (hash: string, failure: Failure): void => take(hash)?.reject(failure),
    refuseAll: (failure: Failure): void => {
      for (const { reject } of waiting.values()) reject(failure);
      waiting.clear();
    },
  };
}
