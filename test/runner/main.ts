// Runs the steps that the command line names (steps.ts), reports every one of them whatever the others did, and ends
// with one line that a machine reads. Started by bin/test.mjs, which installs what this needs.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { messageOf } from '../../src/core/failure.ts';
import { compileCache } from '../support/program-environment.ts';
import { type GroupEnd, runGroup } from './run-group.ts';
import {
  atOnce,
  type Build,
  chooseSteps,
  type Command,
  type Part,
  type Step,
  type Suite,
  type VitestStep,
} from './steps.ts';
import {
  add,
  failedFiles,
  lastLine,
  nothing,
  oneFailed,
  onePassed,
  type Tally,
  tallyVitest,
  troubles,
  withSecondTries,
} from './tally.ts';

const root = join(import.meta.dirname, '..', '..');
const reports = join(root, '.weir', 'test');
const minuteMs = 60_000;
/** Together with what else runs, within the 90 minutes that CI has, on a machine of a third of the usual speed, too. */
const limits = {
  command: { idleMs: 2 * minuteMs, maxMs: 15 * minuteMs },
  build: { idleMs: 5 * minuteMs, maxMs: 60 * minuteMs },
  vitest: { idleMs: 10 * minuteMs, maxMs: 80 * minuteMs },
};

// Every program of a step runs on the Node that runs this; CI=1 makes a missing golden a failure instead of a new file.
const bin = join(root, 'node_modules', '.bin');
// Each of the 300 test files with a process of its own would compile the same libraries again.
const environment = {
  ...process.env,
  ...compileCache,
  CI: '1',
  PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
  ...(process.argv.includes('all') ? { WEIR_TEST_SWEEPS: 'all' } : {}),
};

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort(signal));
const { signal } = interrupted;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const buildCommands: Readonly<Record<Build, readonly string[]>> = {
  'real engine': [join(root, 'test', 'support', 'real-engine', 'build.sh')],
  'real vLLM': [join(root, 'test', 'support', 'real-vllm', 'install.sh')],
  'kubernetes tools': ['node', join(root, 'test', 'kube', 'tools', 'build-missing.ts')],
};

/** Makes one after the other beside the steps that need none, and gives way to their tests. Resolves to those that failed. */
async function makeBuilds(names: ReadonlySet<Build>): Promise<readonly Build[]> {
  const failed: Build[] = [];
  for (const name of names) {
    const startedMs = performance.now();
    const logFile = join(reports, `${name.replaceAll(' ', '-')}-build.log`);
    const command = ['nice', '-n', '19', ...buildCommands[name]];
    const { code } = await runGroup({ command, limits: limits.build, environment, logFile, signal });
    buildSeconds.set(name, ((performance.now() - startedMs) / 1000).toFixed(1));
    if (code === 0) continue;
    say(`\nThe build of the ${name} failed (${code}):\n${readFileSync(logFile, 'utf8')}`);
    failed.push(name);
  }
  return failed;
}

/** Commands at once: few of them use both cores for long. */
const commandsAtOnce = 2;

/** Its output comes as a whole when it has ended: two commands at once would mix theirs. */
async function runCommand({ name, command }: Command): Promise<Tally> {
  const logFile = join(reports, `${name.replaceAll(' ', '-')}.log`);
  const { code } = await runGroup({ command, limits: limits.command, environment, logFile, signal });
  say(`\n${name}:\n${readFileSync(logFile, 'utf8')}`);
  if (code === 0) return onePassed;
  say(`${name} failed (${code})`);
  return oneFailed;
}

/**
 * Files that failed beside others are run once more by themselves: on a busy machine a wait of one program for another may end early.
 * More than so many are no accident (docs/decisions/0055).
 */
const mostTriedAgain = 3;

/** Files at once of those that wait most of their time. */
const besideWorkers = 2;

/** How long each build took, seconds. */
const buildSeconds = new Map<Build, string>();

/** The errors of all suites, repeated at the end. */
const errors: string[] = [];

interface VitestRun {
  readonly title: string;
  readonly projects: readonly string[];
  /** Files at once. */
  readonly workers: number;
  /** Where its output goes while another run prints. */
  readonly logFile?: string;
}

/** The runs of some suites. They begin together. */
function runsOf({ name, suites }: VitestStep): readonly VitestRun[] {
  const title = name.replaceAll(/\W+/g, '-');
  const projects = suites.flatMap((suite) => suite.projects ?? [suite.name]);
  const beside = suites.flatMap(({ beside: several = [] }) => several);
  // Two more than there are cores where most files wait for other programs. One more beside files that wait, and where many measure time.
  const moreThanCores = suites.some(({ withProcesses }) => withProcesses) ? (beside.length > 0 ? 1 : 2) : 0;
  const workers = Number(process.env['WEIR_TEST_WORKERS'] ?? Math.min(4, availableParallelism() + moreThanCores));
  const waiting = { title: `${title}-waits`, projects: beside, workers: besideWorkers };
  const all: readonly VitestRun[] = [
    { title, projects, workers },
    { ...waiting, logFile: join(reports, `${waiting.title}.log`) },
  ];
  return all.filter((run) => run.projects.length > 0);
}

async function runSuites(step: VitestStep): Promise<Tally> {
  const runs = await Promise.all(
    runsOf(step).map(async (run) => {
      const { title, workers, logFile } = run;
      const parameters = [...projectsOf(run), '--maxWorkers', String(workers)];
      const first = await vitest(title, parameters, { part: step.part, logFile });
      if (logFile !== undefined) say(`\n${title}:\n${readFileSync(logFile, 'utf8')}`);
      return { run, first };
    }),
  );
  let sum = nothing;
  for (const { run, first } of runs) sum = add(sum, await judge(run, first, step.part));
  return sum;
}

const projectsOf = ({ projects }: VitestRun): readonly string[] => projects.flatMap((name) => ['--project', name]);

async function judge(run: VitestRun, first: VitestEnd, part: Part): Promise<Tally> {
  const { title } = run;
  const failed = failedFiles(first.report);
  const isTriedAgain = first.code === 1 && failed.length > 0 && failed.length <= mostTriedAgain;
  let { report, code, leftBehind } = first;
  if (isTriedAgain) {
    say(`\nOnce more, alone: ${failed.map((file) => relative(root, file)).join(', ')}`);
    const parameters = [...projectsOf(run), '--maxWorkers', '1', ...failed];
    const second = await vitest(`${title}-again`, parameters, { part });
    const both = withSecondTries(first.report, second.report);
    if (both !== undefined) ({ report, code } = { report: both, code: second.code });
    leftBehind = [...leftBehind, ...second.leftBehind];
  }
  errors.push(...troubles(report));
  if (typeof code === 'string') say(`${title} ended early (${code})`);
  const tally = tallyVitest(report, code);
  if (leftBehind.length === 0) return tally;
  say(`${title} left processes behind (now killed):\n  ${leftBehind.join('\n  ')}`);
  return add(tally, oneFailed);
}

type VitestEnd = GroupEnd & { readonly report: unknown };

interface VitestOptions {
  readonly part: Part;
  readonly logFile?: string | undefined;
}

/** One run of vitest with its report, undefined where it left none. */
async function vitest(
  title: string,
  parameters: readonly string[],
  { part, logFile }: VitestOptions,
): Promise<VitestEnd> {
  const reportFile = join(reports, `${title}.json`);
  rmSync(reportFile, { force: true });
  const command = ['vitest', 'run', ...parameters];
  command.push('--reporter', 'default', '--reporter', 'json', '--outputFile.json', reportFile);
  const output = logFile === undefined ? {} : { logFile };
  const ofPart = { ...environment, WEIR_TEST_PART: part };
  const end = await runGroup({ command, limits: limits.vitest, environment: ofPart, signal, ...output });
  return { ...end, report: readJson(reportFile) };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

async function main(steps: readonly Step[]): Promise<Tally> {
  mkdirSync(reports, { recursive: true });
  const needed = new Set(steps.flatMap((step) => (step.kind === 'vitest' ? step.suites : [])).flatMap(needsOf));
  const builds = makeBuilds(needed);
  const table: string[] = [];
  const left: string[] = [];
  let sum = nothing;
  let begun = 0;
  const line = (name: string, tally: Tally, time: string): void =>
    void table.push(`${name.padEnd(40)} ${lastLine(tally).padEnd(34)} ${time}`);

  async function runStep(step: Step): Promise<void> {
    const failed = step.kind === 'vitest' && step.suites.some(({ needs }) => needs !== undefined) ? await builds : [];
    // The tests of a suite whose build failed would only repeat the same failure.
    const isLeftOut = ({ needs }: Suite): boolean => needs !== undefined && failed.includes(needs);
    const suites = step.kind === 'vitest' ? step.suites : [];
    for (const { name, needs } of suites.filter(isLeftOut)) {
      left.push(`${name}: left out, because the build of the ${needs} failed`);
    }
    if (step.kind === 'vitest' && suites.every(isLeftOut)) return;
    const startedMs = performance.now();
    say(`\n── step ${(begun += 1)} of ${steps.length}, ${minutes(startedMs)} min: ${step.name} ${'─'.repeat(60)}`);
    const run =
      step.kind === 'command'
        ? runCommand(step)
        : runSuites({ ...step, suites: suites.filter((suite) => !isLeftOut(suite)) });
    const tally = await run;
    sum = add(sum, tally);
    line(step.name, tally, `${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  }
  for (const group of atOnce(steps)) {
    const waiting = group.values();
    const lane = async (): Promise<void> => {
      for (const step of waiting) if (!signal.aborted) await runStep(step);
    };
    await Promise.all(Array.from({ length: commandsAtOnce }, lane));
  }
  for (const name of needed) {
    const built = (await builds).includes(name) ? oneFailed : onePassed;
    sum = add(sum, built);
    line(`build of the ${name}`, built, `${buildSeconds.get(name) ?? '0.0'} s`);
  }

  if (errors.length > 0) say(`\n${errors.join('\n\n')}`);
  const all = `in all, ${minutes(performance.now())} min with the installation`;
  say(`\n${[...table, all, ...left, ...errors.flatMap(headOf)].join('\n')}\n`);
  return signal.aborted ? add(sum, oneFailed) : sum;
}

/** Minutes and seconds since `npm test` began, which has installed packages before this program: `1:07`. */
function minutes(nowMs: number): string {
  const begunAt = Number(process.env['WEIR_TEST_BEGUN_AT'] ?? performance.timeOrigin);
  const seconds = Math.floor((performance.timeOrigin + nowMs - begunAt) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The first line of an error that was repeated, where it is one of a failure: what failed is named beside the figures. */
const headOf = (trouble: string): readonly string[] =>
  trouble.startsWith('failed: ') ? trouble.split('\n').slice(0, 1) : [];

const needsOf = ({ needs }: Suite): readonly Build[] => (needs === undefined ? [] : [needs]);

let result = oneFailed;
try {
  result = await main(chooseSteps(process.argv.slice(2)));
} catch (error) {
  say(`${messageOf(error)}\n`);
}
say(lastLine(result));
process.exitCode = result.failed > 0 ? 1 : 0;
