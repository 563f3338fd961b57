// `npm run scale`: what each part of a farm does at most, what a request costs with 1, 2 and 3 services behind one Envoy, and
// what the simulation makes of that.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../src/process/find-envoy.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { startValkey } from '../test/support/valkey.ts';
import { chatRequest } from './chat-request.ts';
import { startEngines } from './engine-processes.ts';
import { type LoadPool, openLoadPool } from './load-pool.ts';
import { measureMemory } from './memory.ts';
import { cpuMs, processTree } from './process-usage.ts';
import { gatewayOf, type ScaleSample, takeScaleSample, totalOf } from './scale-sample.ts';
import { type Demand, simulate } from './scale-simulation.ts';
import { admissions, settlements } from './scale-stores.ts';
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
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const counts = [1, 2, 3] as const;
/** Who never pause; with fewer, each of several services would have too few requests to commit their rows together. */
const callers = 64;
const steadyPerSecond = 120;
const heldStreams = 500;
const idleSeconds = 5;
/** For each service: while its code is not compiled yet, a request costs three times as much. */
const warmUpRequests = 3_000;

const closers: (() => Promise<void>)[] = [];
const report = (line: string): void => console.error(line);
const print = (text: string): void => console.log(`${text}\n`);

interface Gateway {
  readonly replicas: number;
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
  for (const replicas of counts) {
    const valkey = await startValkey();
    closers.push(valkey.close);
    const stores = { WEIR_DATABASE_URL: await postgres.database(`replicas_${replicas}`), WEIR_VALKEY_URL: valkey.url };
    report(`starting ${replicas} service(s)`);
    const weir = await startWeir({
      ...{ root: join(import.meta.dirname, '..'), envoy, manifests, data: join(folder, `data-${replicas}`) },
      replicas: { count: replicas, stores },
    });
    closers.push(weir.stop);
    const path = weir.baseUrl.pathname.replace(/\/$/, '');
    gateways.push({
      replicas,
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

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** The middle one of several samples, figure by figure. */
function middle(samples: readonly ScaleSample[]): Omit<ScaleSample, 'failures'> {
  const of = (read: (sample: ScaleSample) => number): number => median(samples.map(read));
  const demand = (part: keyof Demand): number => of((sample) => sample.demand[part]);
  return {
    replicas: samples[0]?.replicas ?? 0,
    requestsPerSecond: of((sample) => sample.requestsPerSecond),
    cores: of((sample) => sample.cores),
    demand: {
      bench: demand('bench'),
      envoy: demand('envoy'),
      serviceLoop: demand('serviceLoop'),
      serviceThreads: demand('serviceThreads'),
      postgres: demand('postgres'),
      valkey: demand('valkey'),
    },
  };
}

type ScenarioFor = (replicas: number) => Scenario;

/** Every load on each gateway in turn, round by round, so that a slow minute of the machine hits all of them. */
async function sampleRounds(
  gateways: readonly Gateway[],
  scenarioFor: ScenarioFor,
  pool: LoadPool,
): Promise<readonly ScaleSample[]> {
  const samples: ScaleSample[] = [];
  const take = async ({ replicas, target }: Gateway): Promise<ScaleSample> => {
    const scenario = { ...scenarioFor(replicas), seconds };
    const sample = await takeScaleSample(target, { pool, scenario, replicas });
    for (const [reason, count] of Object.entries(sample.failures)) {
      throw new Error(`${count} answers were wrong or missing with ${replicas} service(s): ${reason}`);
    }
    return sample;
  };
  report(`${scenarioFor(1).title}: warm-up`);
  for (const gateway of gateways) {
    for (let answers = 0; answers < warmUpRequests * gateway.replicas;) {
      answers += (await take(gateway)).requestsPerSecond * seconds;
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    report(`${scenarioFor(1).title}: round ${round} of ${rounds}`);
    for (const gateway of round % 2 === 0 ? gateways : gateways.toReversed()) samples.push(await take(gateway));
  }
  return samples;
}

function requestTable(samples: readonly ScaleSample[]): string {
  const byCount = counts.map((count) => samples.filter(({ replicas }) => replicas === count));
  const [alone = []] = byCount;
  const basis = middle(alone);
  const cost = (ms: number): string => `${(ms * 1_000).toFixed(0)} µs`;
  return alignTable([
    [
      'services',
      'requests/s',
      'of one',
      'simulated',
      'off by',
      'cost',
      'of one',
      'envoy',
      'loop',
      'threads',
      'postgres',
      'valkey',
    ],
    ...byCount.map((own) => {
      const { replicas, requestsPerSecond, demand, cores } = middle(own);
      // The same round's figures, so that a slow minute counts for both.
      const ratioOf = (read: (sample: ScaleSample) => number): string =>
        median(own.map((sample, at) => read(sample) / read(alone[at] ?? sample))).toFixed(2);
      // Of the others only the cores that the machine had left are taken: what a request costs is that of one service.
      const forecast = simulate({
        ...{ demand: basis.demand, services: replicas, callers, cores, seconds: 10 },
        envoyThreads: Math.max(1, Math.floor(availableParallelism() / 2)),
      }).requestsPerSecond;
      return [
        String(replicas),
        requestsPerSecond.toFixed(0),
        ratioOf((sample) => sample.requestsPerSecond),
        forecast.toFixed(0),
        `${((forecast / requestsPerSecond - 1) * 100).toFixed(1)} %`,
        cost(gatewayOf(demand)),
        ratioOf((sample) => gatewayOf(sample.demand)),
        ...[demand.envoy, demand.serviceLoop, demand.serviceThreads, demand.postgres, demand.valkey].map(cost),
      ];
    }),
  ]);
}

/** What happens as services are added, each part with cores of its own. */
function growthTable(demand: Demand): string {
  return alignTable([
    ['services', 'requests/s', 'a service', 'busy: service', 'envoy', 'valkey', 'postgres cores'],
    ...[1, 3, 10, 30, 100, 300, 1_000].map((services) => {
      const { requestsPerSecond, busy } = simulate({
        ...{ demand: { ...demand, bench: 0 }, services, callers: services * callers, cores: undefined },
        ...{ envoyThreads: services, seconds: Math.max(0.2, 20 / services) },
      });
      const share = (part: number): string => `${(part * 100).toFixed(0)} %`;
      return [
        String(services),
        requestsPerSecond.toFixed(0),
        (requestsPerSecond / services).toFixed(0),
        ...[share(busy.service), share(busy.envoy), share(busy.valkey)],
        ((requestsPerSecond * demand.postgres) / 1_000).toFixed(1),
      ];
    }),
  ]);
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
  for (const gateway of gateways) idle.push(`${gateway.replicas}: ${(await idleMs(gateway)).toFixed(0)} ms`);
  print(`processor time of idle services, in all, a second, by their number: ${idle.join(', ')}`);
  report('memory of open streams');
  const memory = await measureMemory(first.target, heldStreams);
  const pool = openLoadPool(1);
  closers.push(pool.close);
  const all: Record<string, readonly ScaleSample[]> = {};
  for (const scenario of quickPlan.scenarios.filter(({ name }) => values.load.includes(name))) {
    // As much as each service can have: many requests share a turn of the event loop and a commit.
    const busy: Scenario = { ...scenario, arrival: { kind: 'closed', connections: callers } };
    all[scenario.name] = await sampleRounds(gateways, () => busy, pool);
    print(`${scenario.title.split(',')[0]}, ${callers} connections\n${requestTable(all[scenario.name] ?? [])}`);
    // The same for each service, however many there are: what sharing an Envoy and the servers costs.
    const steady = await sampleRounds(
      gateways,
      (replicas) => ({ ...scenario, arrival: { kind: 'open', perSecond: steadyPerSecond * replicas } }),
      pool,
    );
    all[`${scenario.name}-steady`] = steady;
    print(`${scenario.title.split(',')[0]}, ${steadyPerSecond} a second for each service\n${requestTable(steady)}`);
    const alone = middle((all[scenario.name] ?? []).filter(({ replicas }) => replicas === 1));
    print(
      `of one service: ${totalOf(alone.demand).toFixed(2)} ms a request, the load's own included; ${alone.cores.toFixed(2)} cores at work`,
    );
    print(`as services are added, each part on cores of its own (simulated)\n${growthTable(alone.demand)}`);
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
