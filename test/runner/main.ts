// Runs the steps named on the command line (all, when none is), reports every one of them whatever the others did, and
// ends with one line that a machine reads. Started by bin/test.mjs, which installs what this needs.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runGroup } from './run-group.ts';
import { chooseSteps, type Step } from './steps.ts';
import { add, lastLine, nothing, oneFailed, onePassed, type Tally, tallyVitest } from './tally.ts';

const root = join(import.meta.dirname, '..', '..');
const reports = join(root, '.weir', 'test');
const minuteMs = 60_000;
const commandLimitMs = 3 * minuteMs;
const llamaLimitMs = 20 * minuteMs;

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

/** The real engine takes minutes to compile the first time: that begins before everything else, at the lowest priority. */
async function buildLlama(): Promise<Tally> {
  const script = join(root, 'test', 'support', 'real-engine', 'build.sh');
  const logFile = join(reports, 'llama-build.log');
  const command = ['nice', '-n', '19', script];
  const { code } = await runGroup({ command, limitMs: llamaLimitMs, environment, logFile, signal: interrupted.signal });
  if (code === 0) return onePassed;
  say(`\nThe real engine could not be built (${code}):\n${readFileSync(logFile, 'utf8')}`);
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
      const tally = tallyVitest(readJson(reportFile), code);
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
  const llama = steps.some((step) => step.kind === 'suite' && step.needsLlama) ? buildLlama() : undefined;
  const table: string[] = [];
  let sum = nothing;
  const count = (name: string, tally: Tally, startedMs: number): void => {
    sum = add(sum, tally);
    table.push(
      `${name.padEnd(18)} ${lastLine(tally).padEnd(34)} ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
    );
  };

  for (const step of steps) {
    if (interrupted.signal.aborted) break;
    const startedMs = performance.now();
    say(`\n── ${step.name} ${'─'.repeat(Math.max(0, 100 - step.name.length))}`);
    if (step.kind === 'suite' && step.needsLlama && llama !== undefined) {
      const built = await llama;
      count('real engine build', built, startedMs);
      if (built.failed > 0) continue; // Its tests would only repeat the same failure.
    }
    count(step.name, await runStep(step), startedMs);
  }
  await llama;

  say(`\n${table.join('\n')}\n`);
  if (interrupted.signal.aborted) sum = add(sum, oneFailed);
  say(lastLine(sum));
  process.exitCode = sum.failed > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  say(`${error instanceof Error ? error.message : String(error)}\n\n${lastLine(oneFailed)}`);
  process.exitCode = 1;
}
