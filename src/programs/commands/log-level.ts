import { Argument, type Command } from 'commander';
import { refusal } from '../../books/core/operator-refusals.ts';
import { logLevels } from '../../core/log-level.ts';
import { readOpsAddresses } from '../../process/ops-addresses.ts';
import { accountsCommand } from './accounts-command.ts';
import { dataFolder, openServices, originsIn, serviceOrigins, silentOnes } from './services-asked.ts';
import { textTable } from './tables.ts';

/** The portal of `weir start` may have to start first. */
const timeoutMs = 30_000;

interface LogLevelOptions {
  readonly data?: string;
  readonly at?: string;
}

/** Adds `log-level` to the command line: shows and changes the log level of running programs, without a restart. */
export function logLevelCommand(program: Command): void {
  accountsCommand<LogLevelOptions>(
    program
      .command('log-level')
      .description(
        'show or change the log level of running programs: the services in WEIR_SERVICES, otherwise the data folder’s services and portal',
      )
      .addArgument(new Argument('[level]', 'the new level; without it nothing changes').choices(logLevels))
      .option('--at <urls>', 'only these ops ports or portals, such as http://127.0.0.1:9190, with commas'),
    async (accounts, { data, at }, [wanted]) => {
      const origins = at === undefined ? everyOrigin(data) : originsIn('--at', at);
      if (origins.length === 0) throw refusal('no_program_runs', { folder: dataFolder(data) });
      const client = await openServices(accounts, origins, timeoutMs);
      const { services, data: answers } = await client.logLevel(logLevels.find((level) => level === wanted));
      const silent = silentOnes(services);
      if (answers.length === 0) throw refusal('no_program_answers', { programs: silent.join(', ') });
      const levels = new Map(answers.map(({ service, said }) => [service, said]));
      const json = services.map(({ service, problem }) => ({ service, level: levels.get(service) ?? null, problem }));
      const rows = json.map(({ service, level, problem }) => [service, level ?? `no answer: ${problem}`]);
      return { json, text: textTable(['service', 'level'], rows), ...(silent.length > 0 && { exitCode: 1 }) };
    },
  );
}

const everyOrigin = (data: string | undefined): readonly string[] => [
  ...serviceOrigins(data),
  ...readOpsAddresses(dataFolder(data), 'portal'),
];
