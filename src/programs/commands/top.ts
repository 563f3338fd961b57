import { type Command, Option } from 'commander';
import { systemClock } from '../../process/clock.ts';
import { listenForStop } from '../../process/stop-signals.ts';
import type { TopRowObject } from '../../portal/api/top.ts';
import { type TrafficGroup, trafficGroups } from '../../telemetry/core/traffic.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import type { LiveServices } from '../../portal/services.ts';
import { print } from '../command-line/print.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { accountsCommand } from './accounts-command.ts';
import { dataFolder, openServices, serviceOrigins, silentOnes } from './services-asked.ts';
import { type TableWidth, textTable } from './tables.ts';

interface TopOptions {
  readonly data?: string;
  readonly by: TrafficGroup;
  readonly watch?: true;
}

type TopAnswer = Awaited<ReturnType<typeof topNow>>;

const watchMs = 2_000;
const clearScreen = '\u001B[H\u001B[2J';

/** Adds `top` to the command line: who sends the requests of the last minute. */
export function topCommand(program: Command): void {
  accountsCommand<TopOptions>(
    program
      .command('top')
      .description(
        'show the last minute’s callers: requests, refusals, tokens, cost, in flight; from the services in WEIR_SERVICES, otherwise from the data folder’s services',
      )
      .addOption(new Option('--by <group>', 'grouping').choices(trafficGroups).default('key'))
      .option('--watch', 'repeat every two seconds, until Ctrl-C'),
    async (accounts, { data, by, watch }) => {
      const origins = serviceOrigins(data);
      if (origins.length === 0) throw refusal('no_program_runs', { folder: dataFolder(data) });
      const services = await openServices(accounts, origins);
      const look = () => topNow(services, accounts, by);
      if (watch === true) await showUntilStopped(look);
      return look();
    },
  );
}

async function showUntilStopped(look: () => Promise<TopAnswer>): Promise<void> {
  const { drain, dispose } = listenForStop(process.env);
  const stopped = Promise.withResolvers<undefined>();
  drain.addEventListener('abort', () => stopped.resolve(undefined));
  while (!drain.aborted) {
    print(`${clearScreen}${(await look()).text('fit')}\n`);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const cancel = systemClock.after(watchMs, () => resolve(undefined));
    await Promise.race([promise, stopped.promise]);
    cancel();
  }
  dispose();
}

async function topNow(services: Pick<LiveServices, 'top'>, accounts: Accounts, by: TrafficGroup) {
  const { topOf } = await import('../../portal/top.ts');
  const answers = await services.top(by);
  const silent = silentOnes(answers.services);
  if (answers.data.length === 0) throw refusal('no_program_answers', { programs: silent.join(', ') });
  const rows = await topOf(answers, by, accounts);
  const missing = silent.length === 0 ? '' : `\nNo answer from ${silent.join(', ')}.`;
  return { json: rows, text: (width: TableWidth): string => `${tableOf(rows, by, width)}${missing}` };
}

function tableOf(rows: readonly TopRowObject[], by: TrafficGroup, width: TableWidth): string {
  if (rows.length === 0) return 'No requests in the last minute.';
  return textTable(
    [by.toUpperCase(), '#REQUESTS', '#REFUSED', '#FAILED', '#IN FLIGHT', '#TOKENS', '#USD', 'REFUSALS', 'WOULD REFUSE'],
    rows.map(({ name, label, requests, refused, would_refuse, failed, in_flight, cost, ...row }) => [
      [name ?? '(others)', ...(label === null ? [] : [label])].join(' '),
      `${requests}`,
      `${Object.values(refused).reduce((sum, times) => sum + times, 0)}`,
      `${failed}`,
      `${in_flight}`,
      `${row.prompt_tokens + row.completion_tokens}`,
      cost,
      ...[refusalsText(refused), refusalsText(would_refuse)],
    ]),
    width,
  );
}

/** The codes or limits with the most refusals first. */
function refusalsText(refused: TopRowObject['refused']): string {
  return Object.entries(refused)
    .toSorted(([, a], [, b]) => b - a)
    .map(([code, times]) => `${code} ${times}`)
    .join(', ');
}
