import type { Command } from 'commander';
import { type Refusal, refusal } from '../../books/core/operator-refusals.ts';
import { formatUsd, parseUsd, type Prices } from '../../core/money.ts';
import type { Story } from '../../telemetry/core/story.ts';
import type { ServiceAnswer } from '../../portal/services.ts';
import { maxSamples } from '../../books/core/refusal.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { storyFromLedger, storyOfRefusal } from '../../telemetry/core/ledger-story.ts';
import { accountsCommand } from './accounts-command.ts';
import { openServices, serviceOrigins, silentOnes } from './services-asked.ts';
import { storyText } from './story-text.ts';
import { textTable } from './tables.ts';

interface ExplainOptions {
  readonly data?: string;
}

/**
 * Adds `explain` to the command line: the story of one request, from the services or, if they no longer have it, from
 * the ledger.
 */
export function explainCommand(program: Command): void {
  accountsCommand<ExplainOptions>(
    program
      .command('explain')
      .description(
        'trace one request: plan, attempts, faults, times, bill; from the services in WEIR_SERVICES, otherwise from the data folder’s services, otherwise from the ledger',
      )
      .argument('<request>', 'the request id, or the x-request-id of its answer'),
    async (accounts, { data }, [request = '']) => {
      const { services, stories: live } = await fromServices(accounts, serviceOrigins(data), request);
      const stories = await andFromLedger(live, { accounts, request });
      const [story, ...others] = stories;
      if (story === undefined) throw requestUnknown(request, services);
      const workspaces = await accounts.workspaceNames();
      if (others.length > 0) return { json: stories, text: matchesText(request, stories, workspaces) };
      const prices = await pricesOf(story, accounts);
      const json = { ...story, bill: story.bill && { ...story.bill, prices: prices ? shownPrices(prices) : null } };
      return { json, text: storyText(story, { workspaces, silent: silentOnes(services), prices }) };
    },
  );
}

/** The unit prices of the bill. Undefined: nothing was billed, or they are not known any more. */
async function pricesOf(
  { bill, model, started_at: startedAt }: Story,
  accounts: Pick<Accounts, 'billedPrices'>,
): Promise<Prices | undefined> {
  if (bill === null || bill.counted_by === null || model === null) return undefined;
  const usage = {
    ...{ promptTokens: bill.prompt_tokens, completionTokens: bill.completion_tokens },
    ...{ cachedTokens: bill.cached_tokens ?? undefined, webSearches: bill.web_searches ?? undefined },
  };
  const cost = parseUsd(bill.cost) ?? 0n;
  return accounts.billedPrices({ modelId: model, startedAt: Date.parse(startedAt), usage, cost });
}

/** USD per token and per search, with the names of the catalog. */
function shownPrices({ prompt, completion, inputCacheRead, webSearch }: Prices) {
  return {
    ...{ prompt: formatUsd(prompt), completion: formatUsd(completion), input_cache_read: formatUsd(inputCacheRead) },
    web_search: webSearch === undefined ? null : formatUsd(webSearch),
  };
}

interface Found {
  readonly services: readonly ServiceAnswer[];
  readonly stories: readonly Story[];
}

async function fromServices(accounts: Accounts, origins: readonly string[], request: string): Promise<Found> {
  if (origins.length === 0) return { services: [], stories: [] };
  return (await openServices(accounts, origins)).find(request);
}

/** How many of the newest requests are searched for an `x-request-id`, because the ledger has no index of these ids. */
const maxNewest = 10_000;

/**
 * The request with exactly this id, from a service or the ledger. If there is none, all requests with this
 * `x-request-id`: those in the services' memory, and older ones in the ledger. Callers choose that id, so a stranger's
 * request can have it, too.
 */
async function andFromLedger(
  live: readonly Story[],
  { accounts, request }: { readonly accounts: Accounts; readonly request: string },
): Promise<readonly Story[]> {
  if (live.some(({ id }) => id === request)) return live;
  const settled = await accounts.findRequest(request);
  if (settled !== undefined) return [storyFromLedger(settled)];
  const refused = (await accounts.findRefusals(request)).map(storyOfRefusal);
  const exact = refused.find(({ id }) => id === request);
  if (exact !== undefined) return [exact];
  const known = new Set(live.map(({ id }) => id));
  const newest = await accounts.listRequests({}, maxNewest);
  const forgotten = newest.filter(({ requestId, correlationId }) => correlationId === request && !known.has(requestId));
  const kept = [...forgotten.map(storyFromLedger), ...refused.filter(({ id }) => !known.has(id))];
  return [...live, ...kept.toSorted((one, other) => (one.started_at < other.started_at ? 1 : -1))];
}

/** One line for each of the requests that have the same `x-request-id`, newest first. */
function matchesText(request: string, stories: readonly Story[], workspaces: (id: string) => string): string {
  const rows = stories.map(({ id, started_at, workspace, model, outcome }) => [
    ...[id, started_at, workspace === null ? '' : workspaces(workspace), model ?? '', outcome ?? 'in flight'],
  ]);
  const table = textTable(['REQUEST', 'STARTED', 'WORKSPACE', 'MODEL', 'OUTCOME'], rows);
  return `${stories.length} requests have the x-request-id ${request}. Explain one of them by its own id:\n\n${table}`;
}

function requestUnknown(id: string, services: readonly ServiceAnswer[]): Refusal {
  const silent = silentOnes(services);
  const asked = services.length - silent.length;
  const where = asked === 0 ? 'No service could be reached' : `None of the ${asked} services that answered has it`;
  const away = silent.length === 0 ? '' : `; no answer from ${silent.join(', ')}`;
  return refusal('request_unknown', { id, services: `${where}${away}`, samples: maxSamples, newest: maxNewest });
}
