import type { Command } from 'commander';
import type { Diagnosis, DoctorQuestion } from '../../core/diagnosis.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { checkManifests, checkManifestText, problemLine } from '../../control/reconcilers/check-manifests.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { isStdin, readInput } from '../command-line/read-input.ts';
import { endpointsFromHere, examine } from '../serve/examine.ts';
import { type Answer, databaseCommand, withAccounts } from './accounts-command.ts';
import { dataFolder, openServices, serviceOrigins, silentOnes } from './services-asked.ts';
import { textTable } from './tables.ts';

interface DoctorOptions {
  readonly data?: string;
  readonly manifests?: string;
  readonly deep?: true;
}

/** A deep check tries each capability of each route. */
const timeoutMs = { usual: 120_000, deep: 1_800_000 } as const;

/** Adds `doctor`: asks each engine whether it is what the manifests say. Exit code 1 if something contradicts them. */
export function doctorCommand(program: Command): void {
  databaseCommand<DoctorOptions>(
    program
      .command('doctor')
      .description(
        'compare engines with the manifests: connection, TLS, key, path, model, window, stream, usage; through a service in WEIR_SERVICES, otherwise through the data folder’s',
      )
      .argument('[backend]', 'name of a Backend; default: all')
      .option(
        '--manifests <dir>',
        'send the requests from this machine, with the manifests of this folder, or - for standard input',
      )
      .option('--deep', 'also test each declared capability: up to a minute for each route'),
    async (location, { data, manifests, deep }, [backend]) => {
      const question: DoctorQuestion = { backend, depth: deep === true ? 'deep' : 'usual' };
      return answerOf(
        manifests === undefined
          ? await fromServices(location, data, question)
          : await fromManifests(manifests, question),
      );
    },
  );
}

async function fromManifests(dir: string, question: DoctorQuestion): Promise<readonly Diagnosis[]> {
  const { problems, ...catalog } = isStdin(dir)
    ? await checkManifestText(await readInput(dir, { what: 'manifests' }), 'followed')
    : await checkManifests(dir, 'followed');
  const [problem] = problems;
  if (problem !== undefined) {
    throw new Error(`${problemLine(problem)}. \`weir catalog check ${dir}\` lists all problems of the manifests.`);
  }
  return examine({ ...catalog, endpointsOf: endpointsFromHere }, question);
}

async function fromServices(
  location: DatabaseLocation,
  data: string | undefined,
  question: DoctorQuestion,
): Promise<readonly Diagnosis[]> {
  const origins = serviceOrigins(data);
  if (origins.length === 0) {
    throw refusal('no_program_runs', { folder: dataFolder(data) });
  }
  return withAccounts(location, async (accounts) => {
    const client = await openServices(accounts, origins, timeoutMs[question.depth]);
    const { services, data: found } = await client.doctor(question);
    const [first] = found;
    if (first === undefined) throw refusal('no_program_answers', { programs: silentOnes(services).join('; ') });
    if (first.said.error !== undefined) throw new Error(first.said.error);
    return first.said.diagnoses ?? [];
  });
}

function answerOf(diagnoses: readonly Diagnosis[]): Answer {
  const isGood = diagnoses.every(({ checks }) => checks.every(({ found }) => found !== 'bad'));
  const text = diagnoses.map(({ backend, endpoint, checks }) => {
    const rows = checks.map(({ check, found, note }) => [check, found, note]);
    const at = endpoint === null ? '' : ` at ${endpoint}`;
    return `Backend/${backend}${at}\n${textTable(['check', 'found', 'note'], rows)}`;
  });
  const isSlow = diagnoses.some(({ checks }) => checks.some(({ found }) => found === 'slow'));
  const good = `good: nothing contradicts the manifests${isSlow ? ', but an endpoint is slow' : ''}`;
  const last = isGood ? good : 'not good: see docs/operate/problems.md#causes';
  return {
    json: { good: isGood, diagnoses },
    text: [...(text.length === 0 ? ['There is no Backend.'] : text), last].join('\n\n'),
    exitCode: isGood ? 0 : 1,
  };
}
