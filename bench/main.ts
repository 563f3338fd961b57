import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findEnvoy } from '../src/programs/local/find-envoy.ts';
import { agentsText, measureAgents } from './agents.ts';
import { type AnswerShape, shapePath } from './answers.ts';
import { startBarePath } from './bare-path.ts';
import { measureBudget } from './budget.ts';
import { budgetText } from './budget-text.ts';
import { chatRequest } from './chat-request.ts';
import { readCommandLine, usage, type BenchCommand } from './command-line.ts';
import { startEngines } from './engine-processes.ts';
import { openLoadPool } from './load-pool.ts';
import { measure, warmUp, type Measurement } from './measure.ts';
import { idleText, measureIdle } from './idle.ts';
import { heldShape, measureOverTime, type OverTime } from './over-time.ts';
import { memoryPicture, tailsPicture } from './over-time-lines.ts';
import { overTimeText } from './over-time-text.ts';
import { startPlainEnvoy } from './plain-envoy.ts';
import { profileEnvironment, type ProfiledLoad, readProfiles, runProfiledLoad } from './profile-run.ts';
import { held, shapes } from './scenarios.ts';
import { comparisonTable, costTable, figureTable, memoryTable, profileText } from './table.ts';
import { envoyConcurrency, type Target } from './target.ts';
import { startCollector, tracedTargets } from './tracing.ts';
import { modelId, writeManifests, writeModel } from './weir-manifests.ts';
import { startWeir, type WeirProcess } from './weir-process.ts';

const report = (line: string): void => console.error(line);
const print = (text: string): void => console.log(`${text}\n`);

/** Closers of all that was started, last one first. */
const closers: (() => Promise<void>)[] = [];
async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

async function bench(command: BenchCommand): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const envoy = await findEnvoy({ env: process.env, report });
  // On a small machine one thread and one engine are enough, and more would only take the gateways' time.
  const helpers = Math.max(1, Math.floor(availableParallelism() / 4));
  const engines = await startEngines(helpers);
  closers.push(engines.stop);
  const pool = openLoadPool(helpers);
  closers.push(pool.close);
  const benchPids = [process.pid, ...engines.pids];

  const passthrough = (name: 'direct' | 'plain', port: number): Target => ({
    name,
    address: { host: '127.0.0.1', port },
    request: (shape, stream) => chatRequest({ path: shapePath(shape), model: modelId(shape), stream }),
    benchPids,
  });
  const profiles = join(folder, 'profiles');
  const slow = command.kind === 'over-time' ? heldShape(command.overTime) : undefined;
  const common = {
    envoy,
    enginePort: engines.port,
    benchPids,
    shapes: slow === undefined ? shapes : [...shapes, slow],
  };
  const before =
    command.against === undefined
      ? undefined
      : await weirTarget({
          ...common,
          name: 'before',
          root: resolve(command.against),
          folder: join(folder, 'before'),
          env: {},
        });
  const env = {
    ...(command.kind === 'profile' && profileEnvironment(profiles)),
    // All slow streams come from one address.
    ...(command.kind === 'over-time' && { WEIR_CONNECTIONS_PER_ADDRESS: '0' }),
  };
  const weir = command.withWeir
    ? await weirTarget({ ...common, name: 'weir', root: join(import.meta.dirname, '..'), folder, env })
    : undefined;
  const traced: Target[] = [];
  const collector = command.withTracing ? await startCollector() : undefined;
  if (collector !== undefined) {
    closers.push(collector.stop);
    for (const { name, oneIn } of tracedTargets) {
      const place = { name, root: join(import.meta.dirname, '..'), folder: join(folder, name) };
      traced.push(await weirTarget({ ...common, ...place, env: collector.environment(oneIn) }));
    }
  }

  if (command.kind === 'profile') {
    if (weir === undefined) return;
    await warmUp(pool, weir, command.plan);
    const loads: ProfiledLoad[] = [];
    for (const scenario of command.plan.scenarios.filter((one) => one.arrival.kind === 'closed')) {
      report(`profiling: ${scenario.title}`);
      loads.push(await runProfiledLoad(pool, weir, { ...scenario, seconds: Math.max(scenario.seconds, 4) }));
    }
    await weir.stop();
    for (const load of loads) print(profileText(await readProfiles(profiles, load)));
    return;
  }

  // Plain Envoy gets as many threads as Weir's, whatever that one was told.
  const concurrency = weir && (await envoyConcurrency(weir));
  const plain = await startPlainEnvoy({
    binary: envoy,
    folder: join(folder, 'plain'),
    upstreamPorts: [engines.port],
    ...(concurrency === undefined ? {} : { concurrency }),
  });
  closers.push(plain.stop);
  const plainTarget = { ...passthrough('plain', plain.port), pid: plain.pid };
  const targets = [plainTarget, before, weir, ...traced].filter((one) => one !== undefined);
  if (command.kind === 'budget') {
    const bare = await startBarePath({ binary: envoy, folder: join(folder, 'bare'), enginePort: engines.port });
    closers.push(bare.stop);
    const bareTarget: Target = {
      name: 'bare',
      address: { host: '127.0.0.1', port: bare.port },
      request: (shape, stream) => chatRequest({ path: '/v1', model: modelId(shape), stream }),
      pid: bare.pid,
      benchPids,
    };
    const withBare = targets.toSpliced(1, 0, bareTarget);
    report('warm-up');
    for (const target of withBare) await warmUp(pool, target, command.plan);
    const budget = await measureBudget({ pool, targets: withBare, rounds: command.plan.rounds, report });
    print(budgetText(budget));
    if (command.json !== undefined) await writeFile(command.json, `${JSON.stringify(budget, undefined, 2)}\n`);
    failIfAny(budget.failures);
    return;
  }
  if (command.kind === 'agents') {
    const run = await measureAgents({ targets, rounds: command.plan.rounds, report });
    print(agentsText(run));
    failIfAny(run.failures);
    return;
  }
  if (command.kind === 'idle') {
    print(idleText(await measureIdle(targets)));
    return;
  }
  if (command.kind === 'over-time') {
    if (weir?.metrics === undefined) throw new Error('Weir printed no ops port.');
    const run = await measureOverTime({
      ...{ pool, weir, plain: plainTarget, plan: command.overTime, metrics: weir.metrics, report },
      changeCatalog: (number) => writeModel(join(folder, 'manifests'), held, `bench-${number}`),
    });
    print(overTimeText(run));
    if (command.json !== undefined) await writeFile(command.json, `${JSON.stringify(run, undefined, 2)}\n`);
    if (command.overTime.pictures !== undefined) await writePictures(command.overTime.pictures, run);
    failIfAny(run.failures);
    return;
  }
  const measurement = await measure({
    plan: command.plan,
    pool,
    direct: passthrough('direct', engines.port),
    targets,
    report,
  });
  show(measurement);
  if (collector !== undefined) print(`batches of spans that were exported: ${collector.batches()}`);
  if (command.json !== undefined) {
    const machine = {
      cores: availableParallelism(),
      processor: cpus()[0]?.model,
      platform: process.platform,
      node: process.version,
    };
    await writeFile(
      command.json,
      `${JSON.stringify({ plan: command.plan, machine, envoy, ...measurement }, undefined, 2)}\n`,
    );
  }
}

interface WeirTargetOptions {
  readonly name: 'before' | 'weir' | (typeof tracedTargets)[number]['name'];
  /** The checkout that is started. */
  readonly root: string;
  readonly envoy: string;
  readonly folder: string;
  readonly enginePort: number;
  readonly benchPids: readonly number[];
  /** The answers that it has models for. */
  readonly shapes: readonly AnswerShape[];
  readonly env: Readonly<Record<string, string>>;
}

async function weirTarget(options: WeirTargetOptions): Promise<Target & Pick<WeirProcess, 'stop' | 'metrics'>> {
  const { name, root, envoy, folder, enginePort, benchPids, env } = options;
  const manifests = join(folder, 'manifests');
  await writeManifests(manifests, enginePort, options.shapes);
  report(`starting Weir${name === 'before' ? ` of ${root}` : name === 'weir' ? '' : `, ${name}`}`);
  const weir = await startWeir({ root, envoy, manifests, data: join(folder, 'data'), env });
  closers.push(weir.stop);
  report(`Weir was ready after ${(weir.startMs / 1000).toFixed(1)} s`);
  return {
    name,
    address: { host: weir.baseUrl.hostname, port: Number(weir.baseUrl.port) },
    request: (shape, stream) =>
      chatRequest({ path: weir.baseUrl.pathname.replace(/\/$/, ''), model: modelId(shape), stream, key: weir.key }),
    pid: weir.pid,
    benchPids,
    stop: weir.stop,
    metrics: weir.metrics,
  };
}

async function writePictures(folder: string, run: OverTime): Promise<void> {
  await mkdir(folder, { recursive: true });
  const pictures = { tails: tailsPicture(run), memory: memoryPicture(run) };
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
  else await bench(command);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await closeAll();
}
