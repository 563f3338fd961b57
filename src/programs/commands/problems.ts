import type { Command } from 'commander';
import { dependencyAction, dependencyFailure, dependencySays } from '../../core/dependency-cause.ts';
import { refusalCodeOf } from '../../books/core/operator-refusals.ts';
import { type Problem, problemOf } from '../../control/core/problem.ts';
import { systemClock } from '../../process/clock.ts';
import { type Answer, databaseCommand } from './accounts-command.ts';
import { dataFolder, openServices, portalProblems, serviceOrigins } from './services-asked.ts';
import { textTable } from './tables.ts';

interface ProblemsOptions {
  readonly data?: string;
}

/** Adds `problems` to the command line: what is wrong now, since when, and what to do. */
export function problemsCommand(program: Command): void {
  databaseCommand<ProblemsOptions>(
    program
      .command('problems')
      .description(
        'list the current problems: object, problem, start, next step; of the services in WEIR_SERVICES, otherwise of the data folder',
      ),
    async (location, { data }) => {
      const origins = serviceOrigins(data);
      if (origins.length === 0) return answerOf([nothingRuns(dataFolder(data))]);
      const { openAccounts } = await import('../../books/store/open-accounts.ts');
      let accounts;
      try {
        accounts = await openAccounts(location, { missing: 'refuse', user: 'operator' });
      } catch (error) {
        // Without the database there is no token for the services, so only its outage is reported.
        return answerOf([databaseDown(error)]);
      }
      try {
        const { createProblemList } = await import('../../portal/problem-list.ts');
        const services = await openServices(accounts, origins);
        const ofPortal = () => portalProblems(accounts, data);
        const { problems } = await createProblemList(services, systemClock, ofPortal)();
        return answerOf(problems);
      } finally {
        await accounts.close();
      }
    },
  );
}

function answerOf(problems: readonly Problem[]): Answer {
  const json = problems.map(({ object, problem, since, action }) => ({ object, problem, since, action }));
  return { json, text: problems.length === 0 ? 'No problems.' : tableOf(problems) };
}

/** Each problem has two lines. Beside the problem, the advice would be too far to the right. */
function tableOf(problems: readonly Problem[]): string {
  const rows = problems.flatMap(({ object, since, problem, action }) => [
    [object, `${since.slice(0, 19)}Z`, problem],
    ['', '', `→ ${action}`],
  ]);
  return textTable(['object', 'since', 'problem, and what to do'], rows);
}

const nowText = (): string => new Date(systemClock.now()).toISOString();

function nothingRuns(folder: string): Problem {
  return problemOf({
    object: 'service',
    kind: 'service-silent',
    since: nowText(),
    problem: `No service runs with the data folder ${folder}.`,
    action: 'Start the gateway with `npm start` or `weir serve`, or name another folder with --data.',
  });
}

function databaseDown(error: unknown): Problem {
  const failure = dependencyFailure(error);
  const isMissing = refusalCodeOf(error) === 'database_missing';
  const advice = isMissing ? 'Name the gateway’s database' : dependencyAction(failure, 'database');
  const says = isMissing ? 'The database does not exist at this address' : dependencySays(failure);
  return problemOf({
    object: 'database',
    kind: 'database-down',
    since: nowText(),
    problem: `${says}: the command cannot open it, so it cannot reach the services.`,
    action: `${advice}. It may be another database than the gateway's: compare --data: docs/operate/runbooks.md#weirledgeraway`,
  });
}
