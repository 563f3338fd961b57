import { dayStart } from '../core/budget-period.ts';
import { droppedBefore, keptSince } from './kept-since.ts';
import type { Money } from '../../core/money.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { CommitInDoubt, type OpenDatabase } from '../databases/database.ts';
import type { PackedId } from '../core/packed-id.ts';
import type { SpendingTable } from '../databases/schema.ts';
import { notedRequests } from '../outbox/note-events.ts';
import type { LedgerEntry } from './stored-request.ts';
import { type DependencyCause, knownCauseOf } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { tagsIn, tagText } from '../../core/tags.ts';
import { addToRollups } from './usage-rollup.ts';

/** What a committed settlement has changed. */
export interface Settled {
  /** The balance of each workspace that paid. */
  readonly balances: readonly (readonly [workspaceId: string, balance: Money])[];
  /** What was added to the spending of each key and each tag, by the day on which the requests started. */
  readonly spendings: readonly Spending[];
}

export interface Spending {
  readonly on: SpendingOn;
  /** First moment of the day. */
  readonly day: number;
  readonly amount: Money;
}

/** A key, or a tag (`team=search`) in a workspace. */
export type SpendingOn = { readonly keyId: string } | SpendingOnTag;

export interface SpendingOnTag {
  readonly workspaceId: string;
  readonly tag: string;
  /** The tag stands for another one, which admission did not know to be beyond the bounds. */
  readonly replaced?: true | undefined;
}

/** The parts of a database that settling needs. */
export type SettlingDatabase = Pick<OpenDatabase, 'queries' | 'writes' | 'prepare'>;

/**
 * Requests that started within this time cannot have been deleted, because they are kept for at least a day, unless a
 * clock was ahead and was set back.
 */
const surelyKeptMs = 20 * 3_600_000;

/**
 * Writes requests, adds them to the rollups and to the outbox, and subtracts their costs from balances and budgets, in one
 * transaction. If the promise resolves, all of it is durable. If it rejects, nothing is kept; after `CommitInDoubt`, perhaps all of it.
 * A request whose id is in the ledger already changes nothing and costs nothing.
 */
export async function settleBatch(
  database: SettlingDatabase,
  rows: readonly SettledRequest[],
  now: number = Date.now(),
): Promise<Settled> {
  const { queries, writes } = database;
  if (rows.length === 0) return { balances: [], spendings: [] };
  const entries = eachOnce(await database.prepare(rows));
  const oldest = Math.min(...entries.map(({ counted }) => counted.startedAt));
  return queries
    .transaction()
    .setIsolationLevel('read committed')
    .execute(async (transaction) => {
      if (!writes.refuseDropped || oldest < now - surelyKeptMs) {
        const kept = await keptSince(transaction);
        if (oldest < kept) throw droppedBefore(kept);
      }
      // The statements go straight to the connection, because the query layer's work costs more than a statement.
      return transaction.getExecutor().provideConnection(async (connection) => {
        const written = await writes.insertRequests(connection, entries);
        if (written.length === 0) return { balances: [], spendings: [] };
        const costs = costsOf(written);
        const charged = await writes.charge(connection, costs);
        const known = new Set(charged.map(({ id }) => id));
        const missing = costs.find(([id]) => !known.has(id));
        if (missing !== undefined) throw new RangeError(`there is no workspace ${missing[0]} to charge`);
        const paid = written.map(({ request, countedTags, counted: { startedAt } }) => ({
          ...request,
          ...{ startedAt, tags: countedTags, sentTags: request.tags },
        }));
        const noted = { rows: notedRequests(written.map(({ id }) => id)), at: now };
        await writes.addSpending(connection, spendingOf(paid), noted);
        await addToRollups(
          written.map((entry) => entry.counted),
          (table, usage) => writes.addUsage(connection, table, usage),
        );
        return {
          balances: charged.map(({ id, balance }) => [id, balance] as const),
          spendings: spendingsOf(paid),
        };
      });
    });
}

/** Keeps the first entry of each id. */
function eachOnce(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const first = new Map<PackedId, LedgerEntry>();
  for (const entry of entries) if (!first.has(entry.id)) first.set(entry.id, entry);
  return first.size === entries.length ? entries : [...first.values()];
}

/** The cost of each workspace, in the order of ids: see `LedgerWrites`. */
function costsOf(entries: readonly LedgerEntry[]): readonly (readonly [string, Money])[] {
  const costs = new Map<string, Money>();
  for (const { request } of entries) {
    costs.set(request.workspaceId, (costs.get(request.workspaceId) ?? 0n) + request.cost);
  }
  return [...costs].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

interface Paid extends Pick<SettledRequest, 'workspaceId' | 'keyId' | 'tags' | 'cost' | 'startedAt'> {
  /** The tags before some were counted as `other`. Undefined: not counted yet. */
  readonly sentTags?: string | undefined;
}

/** The amounts that requests add to the spending of keys and of tags, by day. */
export function spendingsOf(requests: readonly Paid[]): readonly Spending[] {
  const ofKeys = spendingOf(requests).map(({ key_id: keyId, day, amount }) => ({
    on: { keyId },
    day: Number(day),
    amount,
  }));
  const ofTags = requests.flatMap(({ workspaceId, tags, sentTags, cost, startedAt }) => {
    const sent = new Set(tagsIn(sentTags ?? tags).map(tagText));
    return tagsIn(tags).map((tag) => {
      const text = tagText(tag);
      const on = sent.has(text) ? { workspaceId, tag: text } : ({ workspaceId, tag: text, replaced: true } as const);
      return { on, day: dayStart(startedAt), amount: cost };
    });
  });
  return [...ofKeys, ...ofTags];
}

/** The amounts that requests add to the spending of keys, by day. */
function spendingOf(requests: readonly Paid[]): readonly SpendingTable[] {
  const sums = new Map<string, SpendingTable>();
  for (const { keyId, cost, startedAt } of requests) {
    const day = dayStart(startedAt);
    const name = `${keyId} ${day}`;
    const sum = sums.get(name);
    sums.set(name, {
      key_id: keyId,
      day: BigInt(day),
      amount: (sum?.amount ?? 0n) + cost,
      last_used_at: sum !== undefined && sum.last_used_at > startedAt ? sum.last_used_at : BigInt(startedAt),
    });
  }
  return [...sums.values()].toSorted((one, other) =>
    one.key_id === other.key_id ? Number(one.day - other.day) : one.key_id < other.key_id ? -1 : 1,
  );
}

/** A row that the database refuses for good. */
export interface RefusedRow {
  /** Index into the batch. */
  readonly index: number;
  readonly message: string;
}

export type SettleResult =
  | (Settled & { readonly kind: 'settled'; readonly refused: readonly RefusedRow[] })
  /** The database failed or did not answer: all rows have to be kept and settled again. */
  | {
      readonly kind: 'down';
      readonly message: string;
      readonly cause: DependencyCause | undefined;
      /** Whether the database may have rows of the batch: a commit is in doubt, or some were settled one by one. */
      readonly mayHaveRows: boolean;
    };

/**
 * Most attempts after conflicts of transactions. Conflicts are rare, because all transactions lock their rows in the
 * same order.
 */
const tries = 5;

/**
 * Settles a batch; never rejects. When the batch as a whole is refused, its rows are settled one by one, so that one bad row
 * (an unknown workspace, a cost past 64 bits) does not keep the others from being written.
 */
export async function settleOrExplain(
  database: SettlingDatabase & Pick<OpenDatabase, 'classify'>,
  rows: readonly SettledRequest[],
  now: number,
): Promise<SettleResult> {
  const first = await attempt(database, rows, now);
  switch (first.kind) {
    case 'settled':
    case 'down':
      return first;
    case 'refused':
      break;
  }
  if (rows.length === 1) return nothingBut([{ index: 0, message: first.message }]);
  const balances = new Map<string, bigint>();
  const spendings: Spending[] = [];
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    const single = await attempt(database, [row], now);
    switch (single.kind) {
      case 'settled':
        for (const [id, balance] of single.balances) balances.set(id, balance);
        spendings.push(...single.spendings);
        break;
      case 'refused':
        refused.push({ index, message: single.message });
        break;
      case 'down':
        return { ...single, mayHaveRows: single.mayHaveRows || index > refused.length };
    }
  }
  return { kind: 'settled', balances: [...balances], spendings, refused };
}

function nothingBut(refused: readonly RefusedRow[]): SettleResult {
  return { kind: 'settled', balances: [], spendings: [], refused };
}

async function attempt(
  database: SettlingDatabase & Pick<OpenDatabase, 'classify'>,
  rows: readonly SettledRequest[],
  now: number,
): Promise<SettleResult | { readonly kind: 'refused'; readonly message: string }> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      return { kind: 'settled', refused: [], ...(await settleBatch(database, rows, now)) };
    } catch (error) {
      const kind = database.classify(error);
      const message = messageOf(error);
      if (kind === 'refused') return { kind: 'refused', message };
      if (kind === 'again' && left > 0) continue;
      return { kind: 'down', message, cause: knownCauseOf(error), mayHaveRows: error instanceof CommitInDoubt };
    }
  }
}
