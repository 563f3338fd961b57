// Runs the steps named on the command line (all, when none is), reports every one of them whatever the others did, and
// ends with one line that a machine reads. Started by bin/test.mjs, which installs what this needs.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { messageOf } from '../../src/core/failure.ts';
import { runGroup } from './run-group.ts';
import { type Build, chooseSteps, type Step } from './steps.ts';
import { add, lastLine, nothing, oneFailed, onePassed, type Tally, tallyVitest, troubles } from './tally.ts';

const root = join(import.meta.dirname, '..', '..');
const reports = join(root, '.weir', 'test');
const minuteMs = 60_000;
const commandLimitMs = 3 * minuteMs;
const buildLimitMs = 20 * minuteMs;

// Every program of a step runs on the Node that runs this; CI=1 makes a missing golden a failure instead of a new file.
const bin = join(root, 'node_modules', '.bin');
const environment = {
  ...process.env,
  CI: '1',
  PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
};

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort(signal));

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One after the other, the suite's that comes first first: side by side they would only be ready later. */
const buildCommands: Readonly<Record<Build, readonly string[]>> = {
  'real engine': [join(root, 'test', 'support', 'real-engine', 'build.sh')],
  'kubernetes tools': ['node', join(root, 'test', 'kube', 'tools', 'build-missing.ts')],
};

/** Begins before everything else, at the lowest priority. */
function startBuilds(steps: readonly Step[]): ReadonlyMap<Build, Promise<Tally>> {
  const needed = new Set(steps.flatMap((step) => (step.kind === 'suite' && step.needs ? [step.needs] : [])));
  const builds = new Map<Build, Promise<Tally>>();
  let earlier: Promise<unknown> = Promise.resolve();
  for (const name of needed) {
    const build = earlier.then(() => runBuild(name));
    builds.set(name, build);
    earlier = build;
  }
  return builds;
}

/** What went wrong in a suite, in words. */
const told: string[] = [];

async function runBuild(name: Build): Promise<Tally> {
  const logFile = join(reports, `${name.replaceAll(' ', '-')}-build.log`);
  const command = ['nice', '-n', '19', ...buildCommands[name]];
  const { code } = await runGroup({ command, limitMs: buildLimitMs, environment, logFile, signal: interrupted.signal });
  if (code === 0) return onePassed;
  say(`\nThe build of the ${name} failed (${code}):\n${readFileSync(logFile, 'utf8')}`);
  return oneFailed;
}

async function runStep(step: Step): Promise<Tally> {
  const { signal } = interrupted;
  switch (step.kind) {
    case 'command': {
      const { code } = await runGroup({ command: step.command, limitMs: commandLimitMs, environment, signal });
      if (code === 0) return onePassed;
      say(`${step.name} failed (${code})`);
      return oneFailed;
    }
    case 'suite': {
      const reportFile = join(reports, `${step.name}.json`);
      rmSync(reportFile, { force: true });
      const workers = process.env['WEIR_TEST_WORKERS'] ?? String(Math.min(4, availableParallelism()));
      const command = ['vitest', 'run', '--project', step.name, '--maxWorkers', workers];
      command.push('--reporter', 'default', '--reporter', 'json', '--outputFile.json', reportFile);
      const { code, leftBehind } = await runGroup({
        command,
        limitMs: step.limitMinutes * minuteMs,
        environment,
        signal,
      });
      const report = readJson(reportFile);
      const tally = tallyVitest(report, code);
      told.push(...troubles(report).map((trouble) => `${step.name}, ${trouble}`));
      if (typeof code === 'string') say(`${step.name} ended early (${code})`);
      if (leftBehind.length === 0) return tally;
      say(`${step.name} left processes behind (now killed):\n  ${leftBehind.join('\n  ')}`);
      return add(tally, oneFailed);
    }
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

async function main(): Promise<void> {
  const steps = chooseSteps(process.argv.slice(2));
  mkdirSync(reports, { recursive: true });
  const builds = startBuilds(steps);
  const reported = new Set<Build>();
  const table: string[] = [];
  let sum = nothing;
  const count = (name: string, tally: Tally, startedMs: number): void => {
    sum = add(sum, tally);
    table.push(
      `${name.padEnd(24)} ${lastLine(tally).padEnd(34)} ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
    );
  };

  for (const step of steps) {
    if (interrupted.signal.aborted) break;
    const startedMs = performance.now();
    say(`\n── ${step.name} ${'─'.repeat(Math.max(0, 100 - step.name.length))}`);
    const build = step.kind === 'suite' && step.needs ? builds.get(step.needs) : undefined;
    if (step.kind === 'suite' && step.needs && build) {
      const built = await build;
      const isFirst = !reported.has(step.needs);
      reported.add(step.needs);
      if (isFirst) count(`${step.needs} build`, built, startedMs);
      if (built.failed > 0) continue; // Its tests would only repeat the same failure.
    }
    count(step.name, await runStep(step), startedMs);
  }
  await Promise.all(builds.values());

  if (told.length > 0) say(`\n${told.join('\n\n')}`);
  say(`\n${table.join('\n')}\n`);
  if (interrupted.signal.aborted) sum = add(sum, oneFailed);
  say(lastLine(sum));
  process.exitCode = sum.failed > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  say(`${messageOf(error)}\n\n${lastLine(oneFailed)}`);
  process.exitCode = 1;
}
