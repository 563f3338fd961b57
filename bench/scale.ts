// `npm run scale`: what each part of a farm does at most, and what a request costs with 1, 2 and 3 services behind one Envoy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../src/programs/local/find-envoy.ts';
import { needPrograms } from '../test/support/needed-programs.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { startValkey } from '../test/support/valkey.ts';
import { chatRequest } from './chat-request.ts';
import { startEngines } from './engine-processes.ts';
import type { Arrival } from './load.ts';
import { type LoadPool, openLoadPool } from './load-pool.ts';
import { measureMemory } from './memory.ts';
import { cpuMs, processTree } from './process-usage.ts';
import { middle, type ScaleSample, takeScaleSample, totalOf } from './scale-sample.ts';
import { admissions, settlements } from './scale-stores.ts';
import { costTable, requestTable } from './scale-tables.ts';
import { quickPlan, type Scenario, shapes } from './scenarios.ts';
import { alignTable } from './table.ts';
import { processesOf, type Target } from './target.ts';
import { modelId, writeManifests } from './weir-manifests.ts';
import { startWeir } from './weir-process.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    load: { type: 'string', multiple: true, default: ['json', 'streams'] },
    json: { type: 'string' },
    patient: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
await needPrograms('PostgreSQL', 'Valkey');
/** Services behind one Envoy. */
const counts = [1, 2, 3] as const;
/** Who never pause; with fewer, each of several services would have too few requests to commit their rows together. */
const callers = 64;
/** Lighter loads of one service: its requests share fewer turns and commits. */
const lighterLoads = [8, 16, 32] as const;
const leadSeconds = 2;
const steadyPerSecond = 120;
const heldStreams = 500;
const idleSeconds = 5;
/** For each service: while its code is not compiled yet, a request costs three times as much. */
const warmUpRequests = 3_000;

const closers: (() => Promise<void>)[] = [];
const report = (line: string): void => console.error(line);
const print = (text: string): void => console.log(`${text}\n`);

interface Gateway {
  readonly services: number;
  readonly target: Target;
}

async function startGateways(folder: string): Promise<readonly Gateway[]> {
  const envoy = await findEnvoy({ env: process.env, report });
  const postgres = await startPostgres();
  closers.push(postgres.close);
  const engines = await startEngines(1);
  closers.push(engines.stop);
  const manifests = join(folder, 'manifests');
  await writeManifests(manifests, engines.port, shapes);
  const gateways: Gateway[] = [];
  for (const [index, services] of counts.entries()) {
    const valkey = await startValkey();
    closers.push(valkey.close);
    const stores = { WEIR_DATABASE_URL: await postgres.database(`gateway_${index}`), WEIR_VALKEY_URL: valkey.url };
    report(`starting ${services} service(s)`);
    const weir = await startWeir({
      ...{ root: join(import.meta.dirname, '..'), envoy, manifests, data: join(folder, `data-${index}`) },
      replicas: { count: services, stores },
    });
    closers.push(weir.stop);
    const path = weir.baseUrl.pathname.replace(/\/$/, '');
    gateways.push({
      services,
      target: {
        name: 'weir',
        address: { host: weir.baseUrl.hostname, port: Number(weir.baseUrl.port) },
        request: (shape, stream) => chatRequest({ path, model: modelId(shape), stream, key: weir.key }),
        pid: weir.pid,
        benchPids: [process.pid, ...engines.pids],
      },
    });
  }
  return gateways;
}

/** Cores that others may have while a sample is taken, where the measure is patient. */
const quietCores = 0.6;
const timeoutMs = 10_000;

/** Waits until other programs leave the machine alone, or have not done so for ten seconds. */
async function untilQuiet(): Promise<void> {
  const times = (): { readonly busyMs: number; readonly at: number } => ({
    busyMs: cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0),
    at: performance.now(),
  });
  for (const until = performance.now() + timeoutMs; performance.now() < until;) {
    const before = times();
    await pause(400);
    const after = times();
    if ((after.busyMs - before.busyMs) / (after.at - before.at) < quietCores) return;
  }
}

/** What one gateway is asked for, several times. */
interface Run {
  readonly gateway: Gateway;
  readonly scenario: Scenario;
  readonly samples: ScaleSample[];
}

/** Every load on each gateway in turn, round by round, so that a slow minute of the machine hits all of them. */
async function takeRounds(runs: readonly Run[], pool: LoadPool): Promise<void> {
  const take = async ({ gateway, scenario }: Run): Promise<ScaleSample> => {
    const sample = await takeScaleSample(gateway.target, { pool, scenario });
    for (const [reason, count] of Object.entries(sample.failures)) {
      throw new Error(`${count} answers were wrong or missing with ${gateway.services} service(s): ${reason}`);
    }
    return sample;
  };
  report('warm-up');
  const heaviest = new Map(runs.map((run) => [run.gateway, run]));
  for (const run of heaviest.values()) {
    for (let answers = 0; answers < warmUpRequests * run.gateway.services;) {
      answers += (await take(run)).requestsPerSecond * (seconds + leadSeconds);
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    report(`round ${round} of ${rounds}`);
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) {
      if (values.patient) await untilQuiet();
      const sample = await take(run);
      run.samples.push(sample);
      const { services } = run.gateway;
      const load = run.scenario.arrival.kind === 'closed' ? `${run.scenario.arrival.connections} callers` : 'steady';
      report(
        `  ${services} service(s), ${load}: ${sample.requestsPerSecond.toFixed(0)}/s, ${totalOf(sample.cost).toFixed(3)} ms, ${sample.cores.toFixed(2)} cores`,
      );
    }
  }
}

/** Processor time that the services of a gateway take in a second without a request, ms. */
async function idleMs({ target }: Gateway): Promise<number> {
  const { service } = await processesOf(target);
  const before = (await cpuMs(service)) ?? 0;
  const from = performance.now();
  await pause(idleSeconds * 1_000);
  return (((await cpuMs(service)) ?? 0) - before) / ((performance.now() - from) / 1_000);
}

async function measureStores(folder: string): Promise<readonly (readonly string[])[]> {
  const postgres = await startPostgres({ max_connections: '300' });
  closers.push(postgres.close);
  const valkey = await startValkey();
  closers.push(valkey.close);
  const pids = async (own: RegExp): Promise<readonly number[]> =>
    (await processTree(process.pid)).filter(({ command }) => own.test(command)).map(({ pid }) => pid);
  const rows: (readonly string[])[] = [['part', 'a second here', 'processor time each']];
  for (const [workspaces, services] of [
    [1, 1],
    [1, 3],
    [100, 1],
    [100, 3],
  ] as const) {
    report(`rows: ${workspaces} workspace(s), ${services} service(s)`);
    const rate = await settlements(await postgres.database(`rows_${workspaces}_${services}`), {
      ...{ pids: () => pids(/^postgres|\/postgres /), seconds, workspaces, services },
      journal: join(folder, `journal-${workspaces}-${services}`),
    });
    rows.push([
      `ledger rows, ${workspaces} workspace(s), ${services} service(s)`,
      rate.perSecond.toFixed(0),
      `${(rate.cpuMs * 1_000).toFixed(1)} µs`,
    ]);
  }
  for (const lanes of [1, 64]) {
    report(`admissions: ${lanes} at once`);
    const rate = await admissions(valkey.url, {
      ...{ pids: () => pids(/redis-server|valkey-server/), seconds, lanes },
    });
    rows.push([
      `admissions in Valkey, ${lanes} at once`,
      rate.perSecond.toFixed(0),
      `${(rate.cpuMs * 1_000).toFixed(1)} µs`,
    ]);
  }
  return rows;
}

async function scale(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-scale-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const gateways = await startGateways(folder);
  const [first] = gateways;
  if (first === undefined) return;
  report('idle gateways');
  const idle: string[] = [];
  for (const gateway of gateways.slice(0, 3))
    idle.push(`${gateway.services}: ${(await idleMs(gateway)).toFixed(0)} ms`);
  print(`processor time of idle services, in all, a second, by their number: ${idle.join(', ')}`);
  report('memory of open streams');
  const memory = await measureMemory(first.target, heldStreams);
  const pool = openLoadPool(1);
  closers.push(pool.close);
  const all: Record<string, object> = {};
  for (const scenario of quickPlan.scenarios.filter(({ name }) => values.load.includes(name))) {
    const [title = ''] = scenario.title.split(',');
    report(title);
    const runOf = (gateway: Gateway, arrival: Arrival): Run => ({
      ...{ gateway, scenario: { ...scenario, arrival, leadSeconds, seconds }, samples: [] },
    });
    const lighter = lighterLoads.map((connections) => runOf(first, { kind: 'closed', connections }));
    // As much as each service can have: many requests share a turn of the event loop and a commit.
    const busy = gateways.map((gateway) => runOf(gateway, { kind: 'closed', connections: callers }));
    await takeRounds([...lighter, ...busy], pool);
    // The same for each service, however many there are: what sharing an Envoy and the servers costs.
    const steady = gateways.map((gateway) =>
      runOf(gateway, { kind: 'open', perSecond: steadyPerSecond * gateway.services }),
    );
    await takeRounds(steady, pool);
    const alone = middle(busy[0]?.samples ?? []);
    const loads = [...lighterLoads, callers];
    const light = [...lighter, ...busy.slice(0, 1)].map(({ samples }, index) => ({
      ...{ callers: loads[index] ?? callers, ...middle(samples) },
    }));
    const ofGroups = (runs: readonly Run[]) =>
      runs.map(({ gateway, samples }) => ({ services: gateway.services, samples }));
    print(`${title}, of one service by callers\n${costTable(light)}`);
    print(`${title}, ${callers} callers\n${requestTable(ofGroups(busy))}`);
    print(`${title}, ${steadyPerSecond} a second for each service\n${requestTable(ofGroups(steady))}`);
    print(
      `of one service: ${totalOf(alone.cost).toFixed(2)} ms a request, the load's own included; ${alone.cores.toFixed(2)} cores at work`,
    );
    all[scenario.name] = { light, busy: ofGroups(busy), steady: ofGroups(steady) };
  }
  const kibibytes = (bytes: number | undefined): string =>
    bytes === undefined ? '–' : `${(bytes / 1024).toFixed(0)} KiB`;
  print(
    `an open stream: ${kibibytes(memory.bytesPerStream.service)} in the service, ${kibibytes(memory.bytesPerStream.envoy)} in Envoy`,
  );
  const stores = await measureStores(folder);
  print(alignTable(stores));
  if (values.json !== undefined) {
    const machine = { cores: availableParallelism(), processor: cpus()[0]?.model, node: process.version };
    await writeFile(values.json, `${JSON.stringify({ machine, all, memory, stores }, undefined, 2)}\n`);
  }
}

async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

process.once('SIGINT', () => {
  void closeAll().then(() => process.exit(130));
});
try {
  await scale();
} finally {
  await closeAll();
}
