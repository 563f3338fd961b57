import { type ExpressionBuilder, type Kysely, sql, type Transaction } from 'kysely';
import { formatUsd, type Money, parseUsd } from '../../core/money.ts';
import { findWorkspace } from '../accounts/workspaces.ts';
import { keyOwners } from '../accounts/keys.ts';
import { listTagNames } from '../accounts/tag-budgets.ts';
import type { UsageLine } from '../core/administration.ts';
import { isoOf } from '../core/field-kinds.ts';
import { refusal } from '../core/operator-refusals.ts';
import { shownSums } from '../core/shown.ts';
import {
  closesAt,
  lastClosed,
  monthAt,
  monthStart,
  type MonthStatement,
  nextMonth,
  type StatementGroup,
  type StatementLine,
} from '../core/statement.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { noteEvent } from '../outbox/note-events.ts';
import { usageReport } from './usage-report.ts';

// A closed month is a document that is kept. So nothing that is settled, added or renamed later changes it, and settling does not
// know of months: what the rollups and the credits have beyond the documents is late, and is in the first month that is open.

/**
 * The statement of a workspace for a month (`2026-11`). The first call after a month is over for `closedAfterHours` closes it and all
 * months before it. Throws a `Refusal` for a month that has not begun, or that ended before the workspace began.
 */
export async function statement(
  queries: Kysely<Schema>,
  workspace: string,
  { month, now }: { readonly month: string; readonly now: number },
): Promise<MonthStatement> {
  if (monthStart(month) > now) throw refusal('statement_of_future', { month, now: monthAt(now) });
  for (;;) {
    const kept = await lastKept(queries, workspace, month);
    if (kept?.month === month) return kept;
    const made = await atOneMoment(queries, (transaction) => makeNext(transaction, { workspace, month, now }, kept));
    const last = made.at(-1);
    // A closed one is read again: another process may have kept it meanwhile, with what it saw.
    if (last?.state === 'closed') await keep(queries, last, now);
    else if (last?.month === month) return last;
  }
}

interface Wanted {
  readonly workspace: string;
  readonly month: string;
  readonly now: number;
}

/** The statements after a kept one: of the next month if it is closed, else of all months up to the wanted one. */
async function makeNext(
  transaction: Transaction<Schema>,
  { workspace, month, now }: Wanted,
  kept: MonthStatement | undefined,
): Promise<readonly MonthStatement[]> {
  const first = kept === undefined ? await firstMonth(transaction, workspace) : nextMonth(kept.month);
  if (month < first) throw refusal('statement_before_workspace', { month, first });
  const made: MonthStatement[] = [];
  for (let next = first; next <= month && made.at(-1)?.state !== 'closed'; next = nextMonth(next)) {
    made.push(await makeStatement(transaction, { workspace, month: next, now }, { before: made.at(-1) ?? kept, made }));
  }
  return made;
}

interface Earlier {
  /** The statement of the month before. */
  readonly before: MonthStatement | undefined;
  /** The statements that are not kept. */
  readonly made: readonly MonthStatement[];
}

async function makeStatement(
  transaction: Transaction<Schema>,
  { workspace: workspaceId, month, now }: Wanted,
  earlier: Earlier,
): Promise<MonthStatement> {
  const { before } = earlier;
  const { name, labels = {} } = await findWorkspace(transaction, workspaceId);
  const filter = { workspaceId, since: monthStart(month), until: monthStart(nextMonth(month)) };
  const [total] = await usageReport(transaction, filter, []);
  const { cost: usage, requests } = total ?? { cost: 0n, requests: 0 };
  const late = await lateUsage(transaction, filter, earlier);
  const lateCost = sumOf(late.map(({ cost }) => cost));
  const entries = await entriesOf(transaction, filter, before);
  const credit = sumOf(entries.filter(({ amount }) => !amount.startsWith('-')).map(({ amount }) => amount));
  const change = sumOf(entries.map(({ amount }) => amount));
  const opening = usd(before?.closing_balance);
  return {
    ...{ workspace: name, workspace_id: workspaceId, month, labels },
    state: now >= closesAt(month) ? 'closed' : 'open',
    opening_balance: formatUsd(opening),
    credits: formatUsd(credit),
    corrections: formatUsd(change - credit),
    usage: formatUsd(usage),
    usage_before: before?.usage ?? '0',
    late_usage: formatUsd(lateCost),
    closing_balance: formatUsd(opening + change - usage - lateCost),
    ...{ entries, late },
    lines: await linesOf(transaction, filter, { usage, before: before?.lines ?? [] }),
    totals: {
      requests: late.reduce((sum, line) => sum + line.requests, requests) + (before?.totals.requests ?? 0),
      credits: formatUsd(usd(before?.totals.credits) + change),
      costs: formatUsd(usd(before?.totals.costs) + usage + lateCost),
    },
  };
}

interface Month {
  readonly workspaceId: string;
  readonly since: number;
  readonly until: number;
}

/** Credits and corrections of a month, after the sum of those before it that no statement has: a clock may have been behind. */
async function entriesOf(
  transaction: Transaction<Schema>,
  { workspaceId, since, until }: Month,
  before: MonthStatement | undefined,
): Promise<MonthStatement['entries']> {
  const ofWorkspace = transaction.selectFrom('credits').where('workspace_id', '=', workspaceId);
  const { sum_high: high, sum_low: low } = await ofWorkspace
    .select([...exactSum('amount', 'sum')])
    .where('created_at', '<', BigInt(since))
    .executeTakeFirstOrThrow();
  const unstated = exactTotal(high, low) - usd(before?.totals.credits);
  const rows = await ofWorkspace
    .select(['id', 'amount', 'note', 'created_at'])
    .where('created_at', '>=', BigInt(since))
    .where('created_at', '<', BigInt(until))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const late = { id: null, amount: unstated, note: 'of closed months', created_at: BigInt(since) };
  return [...(unstated === 0n ? [] : [late]), ...rows].map(({ amount, created_at: at, ...entry }) => ({
    ...entry,
    ...{ at: isoOf(Number(at)), amount: formatUsd(amount) },
  }));
}

/** The usage of earlier months that no statement has, by month and key. */
async function lateUsage(
  transaction: Transaction<Schema>,
  { workspaceId, since }: Month,
  { before, made }: Earlier,
): Promise<MonthStatement['late']> {
  const filter = { workspaceId, until: since };
  const [total] = await usageReport(transaction, filter, []);
  if (before === undefined || (total?.requests === before.totals.requests && total.cost === usd(before.totals.costs)))
    return [];
  const sums = new Map<string, { month: string; key: string; requests: number; cost: Money }>();
  const add = (month: string, key: string, { requests, cost }: { requests: number; cost: Money }): void => {
    const sum = sums.getOrInsertComputed(`${month} ${key}`, () => ({ month, key, requests: 0, cost: 0n }));
    sum.requests += requests;
    sum.cost += cost;
  };
  for (const line of await usageReport(transaction, filter, ['day', 'key'])) {
    add(line.day?.slice(0, 7) ?? '', line.key ?? '', line);
  }
  const kept = await keptOf(transaction, workspaceId).where('month', '<', monthAt(since)).execute();
  for (const { month, late, lines } of [...kept.map(statementIn), ...made]) {
    const ofMonth = lines.flatMap((line) => (line.by === 'key' ? [{ ...line, month, key: line.id ?? '' }] : []));
    for (const { month: of, key, requests, cost } of [...ofMonth, ...late]) {
      add(of, key, { requests: -requests, cost: -usd(cost) });
    }
  }
  const late = [...sums.values()].filter(({ requests }) => requests > 0);
  const owners = await keyOwners(transaction, [...new Set(late.map(({ key }) => key))]);
  return late.map(({ month, key, requests, cost }) => ({
    ...{ month, key, key_name: owners.get(key)?.name ?? null, requests, cost: formatUsd(cost) },
  }));
}

/** The late usage of a workspace, with the month whose statement bills it. Closes the months that are over. */
export async function billedLate(
  queries: Kysely<Schema>,
  workspaceId: string,
  now: number,
): Promise<readonly (MonthStatement['late'][number] & { readonly billed: string })[]> {
  const open = await statement(queries, workspaceId, { month: monthAt(now), now });
  const kept = await keptOf(queries, workspaceId).execute();
  return [...kept.map(statementIn), open].flatMap(({ month: billed, late }) =>
    late.map((entry) => ({ ...entry, billed })),
  );
}

/** The usage of a month by each of `statementGroups`, those that cost most first, and what had a cost in the month before alone. */
async function linesOf(
  transaction: Transaction<Schema>,
  filter: Month,
  { usage, before }: { readonly usage: Money; readonly before: readonly StatementLine[] },
): Promise<StatementLine[]> {
  const earlier = new Map(before.filter(({ cost }) => cost !== '0').map((line) => [placeOf(line), line]));
  const lines: StatementLine[] = [];
  const add = (by: StatementGroup, some: readonly UsageLine[], nameOf: (line: UsageLine) => Partial<Place>): void => {
    for (const line of some.toSorted((one, other) => (one.cost > other.cost ? -1 : Number(one.cost < other.cost)))) {
      const place = { by, tag: null, id: null, name: null, ...nameOf(line) };
      const share = usage === 0n ? 0 : Number((line.cost * 20_000n + usage) / (usage * 2n)) / 100;
      lines.push({ ...place, ...shownSums(line), share, cost_before: earlier.get(placeOf(place))?.cost ?? '0' });
      earlier.delete(placeOf(place));
    }
  };
  const keys = await usageReport(transaction, filter, ['key']);
  const owners = await keyOwners(transaction, [...new Set(keys.flatMap(({ key }) => key ?? []))]);
  const ownerOf = ({ key = '' }: UsageLine) => owners.get(key);
  add('key', keys, (line) => ({ id: line.key ?? null, name: ownerOf(line)?.name ?? null }));
  const identities = Map.groupBy(keys, (line) => ownerOf(line)?.identity).values();
  add('identity', [...identities].map(addedUp), (line) => ({
    ...{ id: ownerOf(line)?.identity ?? null, name: ownerOf(line)?.identityName ?? null },
  }));
  add('model', await usageReport(transaction, filter, ['model']), ({ model = null }) => ({ id: model }));
  for (const { name: tag } of await listTagNames(transaction, filter.workspaceId)) {
    const values = await usageReport(transaction, { ...filter, tagName: tag }, ['tag']);
    if (values.every((line) => line.tag === '')) continue;
    add('tag', values, (line) => ({ tag, id: line.tag === '' ? null : (line.tag ?? null) }));
  }
  const none = { requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, reasoning_tokens: 0 };
  const gone = [...earlier.values()].map((line) => ({ ...line, cost_before: line.cost }));
  return [...lines, ...gone.map((line) => ({ ...line, ...none, web_searches: 0, cost: '0', share: 0 }))];
}

type Place = Pick<StatementLine, 'by' | 'tag' | 'id' | 'name'>;
const placeOf = ({ by, tag, id }: Omit<Place, 'name'>): string => JSON.stringify([by, tag, id]);

/** The sum of lines, with the key of the first. */
function addedUp(lines: readonly UsageLine[]): UsageLine {
  return lines.reduce((one, other) => ({
    ...one,
    requests: one.requests + other.requests,
    promptTokens: one.promptTokens + other.promptTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    webSearches: one.webSearches + other.webSearches,
    cost: one.cost + other.cost,
  }));
}

/** The month of the first statement, which stays the first one. */
async function firstMonth(transaction: Transaction<Schema>, workspaceId: string): Promise<string> {
  const { kept, first } = await transaction
    .selectFrom('workspaces')
    .select([
      'created_at as first',
      sql<string | null>`(select min(month) from statements where workspace_id = id)`.as('kept'),
    ])
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  if (kept !== null) return kept;
  const [used] = await usageReport(transaction, { workspaceId }, ['day']);
  return monthAt(Math.min(Number(first), used === undefined ? Infinity : Date.parse(used.day ?? '')));
}

/** The newest kept statement of a month or of one before it. */
async function lastKept(
  queries: Kysely<Schema>,
  workspaceId: string,
  month: string,
): Promise<MonthStatement | undefined> {
  const row = await keptOf(queries, workspaceId)
    .where('month', '<=', month)
    .orderBy('month', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && statementIn(row);
}

const keptOf = (queries: Kysely<Schema>, workspaceId: string) =>
  queries.selectFrom('statements').select('document').where('workspace_id', '=', workspaceId);

function statementIn({ document }: { readonly document: string }): MonthStatement {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `keep` alone writes these documents.
  return JSON.parse(document) as MonthStatement;
}

/** Keeps the statement of a closed month, unless another process has kept one, and notes that it is closed. */
async function keep(queries: Kysely<Schema>, made: MonthStatement, now: number): Promise<void> {
  const { workspace_id: workspaceId, month } = made;
  await queries.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: kept } = await transaction
      .insertInto('statements')
      .values({ workspace_id: workspaceId, month, document: JSON.stringify(made) })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    if (kept === 1n) await noteEvent(transaction, { kind: 'statement', ref: `${month} ${workspaceId}`, at: now });
  });
}

const statementOf = (of: ExpressionBuilder<Schema, 'workspaces'>, month: string) =>
  of
    .selectFrom('statements')
    .select('month')
    .whereRef('statements.workspace_id', '=', 'workspaces.id')
    .where('month', '=', month);

/** Closes the last month that is over, and those before it, of every workspace without a statement of it. */
export async function closeMonths(queries: Kysely<Schema>, now: number): Promise<void> {
  const month = lastClosed(now);
  const open = await queries
    .selectFrom('workspaces')
    .select('id')
    .where('created_at', '<', BigInt(monthStart(nextMonth(month))))
    .where((of) => of.not(of.exists(statementOf(of, month))))
    .execute();
  for (const { id } of open) await statement(queries, id, { month, now });
}

const usd = (text = '0'): Money => parseUsd(text) ?? 0n;
const sumOf = (amounts: readonly string[]): Money => amounts.reduce((sum, amount) => sum + usd(amount), 0n);
