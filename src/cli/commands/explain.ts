import type { Command } from 'commander';
import type { Outcome } from '../../core/account.ts';
import type { Story } from '../../core/story.ts';
import type { ServiceAnswer } from '../../portal/services.ts';
import type { Accounts } from '../../store/accounts.ts';
import { storyFromLedger } from '../../telemetry/tell-story.ts';
import { accountsCommand } from './accounts-command.ts';
import { openServices, serviceOrigins, silentOnes } from './services-asked.ts';
import { storyText } from './story-text.ts';

interface ExplainOptions {
  readonly data?: string;
}

/** Adds `explain` to the command line: the story of one request, from the services or, when they have forgotten it, from the ledger. */
export function explainCommand(program: Command): void {
  accountsCommand<ExplainOptions>(
    program
      .command('explain')
      .description(
        'tell the story of one request: plan, attempts, faults, times, bill; from the services of WEIR_SERVICES, else those that run with this data folder, else from the ledger',
      )
      .argument('<request>', 'the id of the request, or the x-request-id of its answer'),
    'refuse',
    async (accounts, { data }, [request = '']) => {
      const live = await fromServices(accounts, serviceOrigins(data), request);
      const settled = live.story === undefined ? await fromLedger(accounts, request) : undefined;
      const story = live.story ?? (settled && storyFromLedger(settled));
      if (story === undefined) throw new Error(unknownText(request, live.services));
      const workspaces = await accounts.workspaceNames();
      return { json: story, text: storyText(story, { workspaces, silent: silentOnes(live.services) }) };
    },
  );
}

interface Found {
  readonly services: readonly ServiceAnswer[];
  readonly story: Story | undefined;
}

async function fromServices(accounts: Accounts, origins: readonly string[], request: string): Promise<Found> {
  if (origins.length === 0) return { services: [], story: undefined };
  return (await openServices(accounts, origins)).find(request);
}

/** The newest requests, among which an `x-request-id` is looked for: the ledger has no index of those. */
const mostNewest = 10_000;

async function fromLedger(accounts: Accounts, request: string): Promise<Outcome | undefined> {
  const found = await accounts.findRequest(request);
  if (found !== undefined) return found;
  const newest = await accounts.listRequests({}, mostNewest);
  return newest.find(({ correlationId }) => correlationId === request);
}

function unknownText(request: string, services: readonly ServiceAnswer[]): string {
  const silent = silentOnes(services);
  const asked = services.length - silent.length;
  const where = asked === 0 ? 'No service could be asked' : `None of the ${asked} services that answered remembers it`;
  const away = silent.length === 0 ? '' : `; no answer from ${silent.join(', ')}`;
  return `There is no request ${request}. ${where}${away}. The ledger has no row of it: a request that was refused has none, and an x-request-id is looked for among the newest ${mostNewest} only.`;
}
