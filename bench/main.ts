import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentScenarios, agentsText } from './agents.ts';
import { promptsPicture, wordsPicture } from './bars-lines.ts';
import { type BarsFile, barsFile } from './bars-file.ts';
import { barsText, memoryText } from './bars-text.ts';
import { startBarePath } from './bare-path.ts';
import { measureBudget } from './budget.ts';
import { budgetText } from './budget-text.ts';
import { chatRequest } from './chat-request.ts';
import { comparisonsOf } from './changes.ts';
import { readCommandLine, usage, type BenchCommand } from './command-line.ts';
import { type Gateways, profilesIn, startGateways } from './gateways.ts';
import { idleText, measureIdle } from './idle.ts';
import type { LinePicture } from './line-picture.ts';
import { failuresOf, measure, runRounds, warmUp, type Measurement } from './measure.ts';
import { measureBars, runExact, runLarge } from './measure-bars.ts';
import { measureOverTime } from './over-time.ts';
import { memoryPicture, tailsPicture } from './over-time-lines.ts';
import { overTimeText } from './over-time-text.ts';
import { type ProfiledLoad, readProfiles, runProfiledLoad } from './profile-run.ts';
import { held, type Scenario, tokenScenarios } from './scenarios.ts';
import { comparisonTable, costTable, figureTable, memoryTable, profileText } from './table.ts';
import type { Target } from './target.ts';
import { measureVectors } from './vectors.ts';
import { vectorsText } from './vectors-text.ts';
import { modelId, writeModel } from './weir-manifests.ts';

const report = (line: string): void => console.error(line);
const print = (text: string): void => console.log(`${text}\n`);

/** Closers of all that was started, last one first. */
const closers: (() => Promise<void>)[] = [];
async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

/** A measurement, once all that it needs is running. */
interface Run {
  readonly command: BenchCommand;
  readonly gateways: Gateways;
  readonly folder: string;
}

async function profile({ command: { plan }, gateways: { pool, weir }, folder }: Run): Promise<void> {
  if (weir === undefined) return;
  await warmUp(pool, weir, plan);
  const loads: ProfiledLoad[] = [];
  for (const scenario of plan.scenarios.filter((one) => one.arrival.kind === 'closed')) {
    report(`profiling: ${scenario.title}`);
    loads.push(await runProfiledLoad(pool, weir, { ...scenario, seconds: Math.max(scenario.seconds, 4) }));
  }
  await weir.stop();
  for (const load of loads) print(profileText(await readProfiles(profilesIn(folder), load)));
}

async function startBare({ envoy, enginePort, benchPids }: Gateways, folder: string): Promise<Target> {
  const bare = await startBarePath({ binary: envoy, folder: join(folder, 'bare'), enginePort });
  closers.push(bare.stop);
  return {
    ...{ name: 'bare', address: { host: '127.0.0.1', port: bare.port }, pid: bare.pid, benchPids },
    request: (shape, stream, prompt) => chatRequest({ path: '/v1', model: modelId(shape), stream, prompt }),
  };
}

async function budget({ command, gateways, folder }: Run): Promise<void> {
  const { pool } = gateways;
  const withBare = gateways.targets.toSpliced(1, 0, await startBare(gateways, folder));
  report('warm-up');
  for (const target of withBare) await warmUp(pool, target, command.plan);
  const measured = await measureBudget({ pool, targets: withBare, rounds: command.plan.rounds, report });
  print(budgetText(measured));
  await writeJson(command, measured);
  failIfAny(measured.failures);
}

async function agents({ command, gateways: { pool, targets } }: Run): Promise<void> {
  const isExact = ({ prompt }: Scenario): boolean => prompt?.exact === true;
  const common = { pool, targets, rounds: command.plan.rounds, report };
  report('warm-up');
  for (const target of targets) await warmUp(pool, target, command.plan);
  const samples = [
    ...(await runLarge({ ...common, scenarios: agentScenarios.filter((one) => !isExact(one)) })),
    ...(await runExact({ ...common, scenarios: agentScenarios.filter(isExact) })),
  ];
  print(agentsText(samples));
  await writeJson(command, { machine: machine(), samples });
  failIfAny(failuresOf(samples));
}

async function tokens({ command, gateways: { pool, targets } }: Run): Promise<void> {
  const { plan } = command;
  const both = targets.filter(({ name }) => name === 'weir' || name === 'token');
  report('warm-up');
  for (const target of both) await warmUp(pool, target, plan);
  const samples = await runRounds({ pool, targets: both, scenarios: tokenScenarios, rounds: plan.rounds, report });
  for (const { changes, ...pair } of comparisonsOf(samples))
    print(comparisonTable({ ...pair, changes: changes.filter(({ compared }) => compared !== undefined) }));
  await writeJson(command, { machine: machine(), samples });
  failIfAny(failuresOf(samples));
}

/** Embeddings have an engine and a catalog of their own. */
async function vectors(command: BenchCommand, folder: string): Promise<void> {
  const on = machine();
  const measured = await measureVectors({ command, folder, report, onClose: (close) => closers.push(close) });
  print(vectorsText(measured));
  await writeJson(command, { machine: on, ...measured });
}

async function measureEachBar({ command, gateways, folder }: Run): Promise<void> {
  const { plan, bars: chosen, pictures } = command;
  const { pool, weir } = gateways;
  const starts = weir === undefined ? [] : [{ target: weir.name, seconds: weir.startMs / 1_000 }];
  const withPictures = pictures !== undefined;
  // Before the loads are part of it.
  const on = machine();
  const startLater = async () => (weir === undefined ? [] : [await startBare(gateways, folder)]);
  const { readings, failures } = await measureBars({
    ...{ plan, chosen, withPictures, pool, targets: gateways.targets, startLater, starts, report },
  });
  const file = barsFile(readings, { machine: on, rounds: plan.rounds });
  print(barsText(file, chosen));
  print(memoryText(readings.memory));
  await writeJson(command, file);
  if (pictures !== undefined)
    await writePictures(pictures, { prompts: promptsPicture(readings), words: wordsPicture(readings) });
  failIfAny(failures);
}

async function overTime({ command, gateways: { pool, plain, weir }, folder }: Run): Promise<void> {
  if (weir?.metrics === undefined) throw new Error('Weir printed no ops port.');
  const run = await measureOverTime({
    ...{ pool, weir, plain, plan: command.overTime, metrics: weir.metrics, report },
    changeCatalog: (number) => writeModel(join(folder, 'manifests'), held, `bench-${number}`),
  });
  print(overTimeText(run));
  await writeJson(command, run);
  if (command.pictures !== undefined)
    await writePictures(command.pictures, { tails: tailsPicture(run), memory: memoryPicture(run) });
  failIfAny(run.failures);
}

async function measureAll({ command, gateways }: Run): Promise<void> {
  const { pool, direct, targets, envoy, collector, receiver } = gateways;
  const measurement = await measure({ plan: command.plan, pool, direct, targets, report });
  show(measurement);
  if (collector !== undefined) print(`batches of spans that were exported: ${collector.batches()}`);
  if (receiver !== undefined) print(`messages with events that were sent: ${receiver.messages()}`);
  await writeJson(command, { plan: command.plan, machine: machine(), envoy, ...measurement });
}

const kinds: Readonly<Record<Exclude<BenchCommand['kind'], 'help' | 'vectors'>, (run: Run) => Promise<void>>> = {
  ...{ profile, budget, agents, tokens, bars: measureEachBar, 'over-time': overTime, measure: measureAll },
  idle: async ({ command, gateways }) => print(idleText(await measureIdle(gateways.targets, command.plan.idle))),
};

function machine(): BarsFile['machine'] {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
    platform: process.platform,
    node: process.version,
    loadAverage: Math.round(loadavg()[0] ?? 0),
  };
}

async function writeJson({ json }: BenchCommand, value: object): Promise<void> {
  if (json !== undefined) await writeFile(json, `${JSON.stringify(value, undefined, 2)}\n`);
}

async function writePictures(folder: string, pictures: Readonly<Record<string, LinePicture>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, picture] of Object.entries(pictures)) {
    await writeFile(join(folder, `${name}.lines.json`), `${JSON.stringify(picture)}\n`);
  }
}

function show(measurement: Measurement): void {
  print(figureTable(measurement.figures));
  for (const comparison of measurement.comparisons) print(comparisonTable(comparison));
  print(costTable(measurement.costs));
  print(memoryTable(measurement.memory));
  const ceiling = measurement.samples
    .filter((sample) => sample.target === 'direct')
    .map((sample) => `${sample.scenario} ${Math.round(sample.answersPerSecond)}/s`);
  print(`straight to the mock engine: ${ceiling.join(', ')}`);
  failIfAny(measurement.failures);
}

function failIfAny(failures: Readonly<Record<string, number>>): void {
  const lines = Object.entries(failures).map(([reason, count]) => `  ${count} × ${reason}`);
  if (lines.length === 0) return;
  print(`NOT A MEASUREMENT, answers were wrong or missing:\n${lines.join('\n')}`);
  process.exitCode = 1;
}

process.once('SIGINT', () => {
  void closeAll().then(() => process.exit(130));
});
try {
  const command = readCommandLine(process.argv.slice(2));
  if (command.kind === 'help') print(usage);
  else {
    const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    if (command.kind === 'vectors') await vectors(command, folder);
    else {
      const gateways = await startGateways(command, { folder, report, onClose: (close) => closers.push(close) });
      await kinds[command.kind]({ command, gateways, folder });
    }
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await closeAll();
}
