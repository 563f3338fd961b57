import type { Kysely, Transaction } from 'kysely';
import { formatUsd, type Money } from '../../core/money.ts';
import { keyOwners } from '../accounts/keys.ts';
import { type RecordedPrices, recordedPrices, type TokenPrices } from '../accounts/model-prices.ts';
import { listTagNames } from '../accounts/tag-budgets.ts';
import { listWorkspaces } from '../accounts/workspaces.ts';
import type { UsageLine } from '../core/administration.ts';
import { monthAt } from '../core/statement.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import type { Schema } from '../databases/schema.ts';
import { type FocusCharge, focusRow, type FocusRow, labelTags } from './focus-columns.ts';
import { periodMs } from './usage-rollup.ts';
import { usageReport } from './usage-report.ts';

// The usage of a day as rows of FOCUS 1.2, the FinOps Open Cost and Usage Specification (https://focus.finops.org): one for each
// key, model and meter. A workspace is the billing account, an identity the sub account, a key the resource, a model the SKU.

/** Units have the names of FOCUS; one that it does not know begins with a capital. */
const tokens = 'Tokens';

export interface FocusOptions {
  /** First moment of a UTC day. */
  readonly day: number;
  readonly workspaceId?: string | undefined;
  /** The name of the company that answers for the gateway. */
  readonly provider: string;
}

/** The rows of a day, in the order of `focusColumns`. Their billed costs add up to the cost of the day. */
export async function focusDay(
  queries: Kysely<Schema>,
  { day, workspaceId, provider }: FocusOptions,
): Promise<readonly FocusRow[]> {
  return atOneMoment(queries, async (transaction) => {
    const filter = { workspaceId, since: day, until: day + periodMs.usage_days };
    const lines = await usageReport(transaction, filter, ['key', 'model']);
    const owners = await keyOwners(transaction, [...new Set(lines.flatMap(({ key }) => key ?? []))]);
    const workspaces = new Map((await listWorkspaces(transaction)).map((workspace) => [workspace.id, workspace]));
    const prices = await recordedPrices(transaction, [...new Set(lines.flatMap(({ model }) => model ?? []))]);
    const tagged = await taggedLines(transaction, filter);
    return lines.flatMap((whole) => {
      const owner = owners.get(whole.key ?? '');
      const { id = '', name = '', labels } = workspaces.get(owner?.workspaceId ?? '') ?? {};
      const facts = {
        ...{ from: day, until: filter.until, billed: monthAt(day), key: whole.key, owner },
        ...{ workspace: { id, name }, provider },
      };
      return splitByTag(whole, tagged.get(groupOf(whole)) ?? []).flatMap(({ line, tags }) =>
        chargesOf(line, prices.get(line.model ?? '') ?? [], day).map((charge) =>
          focusRow(charge, { ...facts, tags: { ...labelTags(labels), ...tags } }),
        ),
      );
    });
  });
}

const groupOf = ({ key, model }: UsageLine): string => `${key} ${model}`;

/** The lines by the values of each tag name that requests of a key and model had. Empty values: requests without it. */
async function taggedLines(
  transaction: Transaction<Schema>,
  filter: { readonly workspaceId: string | undefined; readonly since: number; readonly until: number },
): Promise<ReadonlyMap<string, readonly (readonly [name: string, lines: readonly UsageLine[]])[]>> {
  const tagged = new Map<string, (readonly [string, readonly UsageLine[]])[]>();
  for (const { name } of await listTagNames(transaction, filter.workspaceId)) {
    const lines = await usageReport(transaction, { ...filter, tagName: name }, ['key', 'model', 'tag']);
    for (const [group, some] of Map.groupBy(lines, groupOf)) {
      if (some.some(({ tag }) => tag !== '')) tagged.getOrInsertComputed(group, () => []).push([name, some]);
    }
  }
  return tagged;
}

/**
 * The parts of a line with the tags that all their requests have. Rollups count each name of a tag by itself, so only one name can
 * divide a line: the first by which its requests differ.
 */
function splitByTag(
  whole: UsageLine,
  tagged: readonly (readonly [name: string, lines: readonly UsageLine[]])[],
): readonly { readonly line: UsageLine; readonly tags: Readonly<Record<string, string>> }[] {
  const common = Object.fromEntries(
    tagged.flatMap(([name, [only, other]]) => (other === undefined ? [[name, only?.tag ?? '']] : [])),
  );
  const [dividing] = tagged.filter(([, lines]) => lines.length > 1);
  if (dividing === undefined) return [{ line: whole, tags: common }];
  const [name, lines] = dividing;
  return lines.map((line) => ({ line, tags: line.tag === '' ? common : { ...common, [name]: line.tag ?? '' } }));
}

/** The charges of a line by meter, if the prices of the day give its cost to the last unit; else one for its amount. */
function chargesOf(line: UsageLine, recorded: readonly RecordedPrices[], day: number): readonly FocusCharge[] {
  const { model = '', promptTokens, cachedTokens, completionTokens, webSearches, requests, cost } = line;
  if (cost === 0n && promptTokens + completionTokens + webSearches === 0) return [];
  for (const prices of pricesOf(recorded, day, { withSearches: webSearches > 0 })) {
    const metered: readonly (readonly [string, number, string, Money])[] = [
      ['Prompt tokens', promptTokens - cachedTokens, tokens, prices.prompt],
      ['Cached prompt tokens', cachedTokens, tokens, prices.cached],
      ['Completion tokens', completionTokens, tokens, prices.completion],
    ];
    const rest = cost - metered.reduce((sum, [, quantity, , price]) => sum + BigInt(quantity) * price, 0n);
    const searches = BigInt(webSearches);
    if (searches === 0n ? rest !== 0n : rest < 0n || rest % searches !== 0n) continue;
    return [...metered, ['Web searches', webSearches, 'Searches', searches === 0n ? 0n : rest / searches] as const]
      .filter(([, quantity]) => quantity > 0)
      .map(([meter, quantity, unit, price]) => ({
        ...{ sort: 'usage', description: `${meter} of ${model}`, cost: BigInt(quantity) * price },
        metered: {
          ...{ model, meter, consumed: [quantity, unit], priced: [`${quantity}`, unit, price], category: 'Standard' },
        },
      }));
  }
  const priced = [formatUsd(cost), 'USD', usdItself] as const;
  const metered = { model, meter: 'Requests', consumed: [requests, 'Requests'], priced, category: 'Other' } as const;
  return [{ sort: 'usage', description: `Requests of ${model}`, cost, metered }];
}

const usdItself: Money = 10n ** 12n;
const free: TokenPrices = { prompt: 0n, cached: 0n, completion: 0n };

/**
 * The prices that a line of a day may have, the likeliest first. The price of a search is not recorded: it is the rest, which is
 * known if no other price was in force on the day.
 */
function pricesOf(
  recorded: readonly RecordedPrices[],
  day: number,
  { withSearches }: { readonly withSearches: boolean },
): readonly TokenPrices[] {
  const until = recorded.filter(({ at }, index) => index === 0 || at < day + periodMs.usage_days);
  const changed = until.slice(1).some(({ at }) => at > day);
  const known = until.map(({ prices }) => prices).toReversed();
  if (!withSearches) return [...known, free];
  return changed ? [] : known.slice(0, 1);
}
