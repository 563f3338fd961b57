// `npm run pool:real`: the same conversations and agents before four real llama-servers, picked in turn by a plain Envoy, by SGLang's
// model gateway, and by two replicas of Weir (docs/lab/pool.md).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../../src/programs/local/find-envoy.ts';
import { installRequirements } from '../../test/clients/install.ts';
import { freePort } from '../../test/support/free-port.ts';
import { startLlama } from '../../test/support/llama.ts';
import { needPrograms } from '../../test/support/needed-programs.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { quantile } from '../../test/support/quantile.ts';
import { startValkey } from '../../test/support/valkey.ts';
import { startPlainEnvoy } from '../plain-envoy.ts';
import { alignTable } from '../table.ts';
import { startWeir } from '../weir-process.ts';
import { runSessions, type Sample, type Target } from './caller.ts';
import { makeWorkload } from './workload.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    low: { type: 'string', default: '80' },
    near: { type: 'string', default: '30' },
  },
});
const rounds = Number(values.rounds);
await needPrograms('llama-server', 'Python', 'PostgreSQL', 'Valkey');
/** In so many seconds the sessions of a run begin. */
const loads = { low: Number(values.low), 'near saturation': Number(values.near) } as const;
type Load = keyof typeof loads;

const engineCount = 4;
/** Of a slot, tokens. The model was made for less, and takes more when it is told so. */
const contextLength = 16_384;
const slots = 4;
/** What a server keeps of prompts that left their slots, MiB: less than all sessions have together. */
const keptMiB = 64;
const startLimitMs = 60_000;

const closers: (() => Promise<void>)[] = [];
const report = (line: string): void => console.error(line);

async function startEngines(): Promise<readonly number[]> {
  const extra = ['--override-kv', `llama.context_length=int:${contextLength}`, '--cache-ram', String(keptMiB)];
  const engines = await Promise.all(
    Array.from({ length: engineCount }, () =>
      startLlama({ contextLength: contextLength * slots, parallel: slots, extra }),
    ),
  );
  closers.push(...engines.map((engine) => engine.close));
  return engines.map(({ port }) => port);
}

async function startRoundRobin(folder: string, envoy: string, ports: readonly number[]): Promise<Target> {
  const plain = await startPlainEnvoy({ binary: envoy, folder, upstreamPorts: ports, concurrency: 1 });
  closers.push(plain.stop);
  return { url: `http://127.0.0.1:${plain.port}/v1`, model: 'tiny', key: undefined };
}

async function startSglangRouter(ports: readonly number[]): Promise<Target> {
  const environment = await installRequirements('sglang-router', join(import.meta.dirname, 'requirements.txt'));
  const [port, metrics] = [await freePort(), await freePort()];
  const child = spawn(
    join(environment, 'bin', 'python'),
    [
      ...['-m', 'sglang_router.launch_router', '--policy', 'cache_aware', '--log-level', 'error'],
      ...['--host', '127.0.0.1', '--port', String(port), '--prometheus-port', String(metrics)],
      ...['--worker-urls', ...ports.map((worker) => `http://127.0.0.1:${worker}`)],
    ],
    { stdio: 'ignore' },
  );
  closers.push(async () => {
    if (child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  const url = `http://127.0.0.1:${port}`;
  for (const until = performance.now() + startLimitMs; ;) {
    const isReady = await fetch(`${url}/readiness`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url: `${url}/v1`, model: 'tiny', key: undefined };
    if (child.exitCode !== null || performance.now() > until) throw new Error('the router did not start');
    // It tells nobody when it is ready.
    await pause(100);
  }
}

async function startReplicas(folder: string, envoy: string, ports: readonly number[]): Promise<Target> {
  const manifests = join(folder, 'manifests');
  await mkdir(manifests, { recursive: true });
  const objects = [
    {
      ...{ apiVersion: 'weir.dev/v1alpha1', kind: 'Backend', metadata: { name: 'engines' } },
      spec: { engine: 'llamacpp', path: '/v1', endpoints: ports.map((port) => ({ host: '127.0.0.1', port })) },
    },
    {
      ...{ apiVersion: 'weir.dev/v1alpha1', kind: 'Model', metadata: { name: 'tiny' } },
      spec: {
        ...{ id: 'bench/tiny', ownedBy: 'bench', added: '2026-01-01T00:00:00Z', contextLength },
        pricing: { prompt: '0.0000001', completion: '0.0000002' },
        reasoning: { mode: 'None', efforts: [] },
        routes: [{ backend: 'engines', upstreamModel: 'tiny' }],
      },
    },
  ];
  for (const object of objects) {
    await writeFile(join(manifests, `${object.kind}.yaml`), JSON.stringify(object));
  }
  const [postgres, valkey] = await Promise.all([startPostgres(), startValkey()]);
  closers.push(postgres.close, valkey.close);
  const stores = { WEIR_DATABASE_URL: await postgres.database('weir'), WEIR_VALKEY_URL: valkey.url };
  const weir = await startWeir({
    ...{ root: join(import.meta.dirname, '..', '..'), envoy, manifests, data: join(folder, 'data') },
    // With a watchdog, a machine of two cores gets its requests served by one replica.
    replicas: { count: 2, stores },
  });
  closers.push(weir.stop);
  return { url: weir.baseUrl.href.replace(/\/$/, ''), model: 'bench/tiny', key: weir.key };
}

/** A share or a time of each round: the middle, the least and the greatest. */
const spread = (values: readonly number[], print: (value: number) => string): string =>
  `${print(quantile(values, 0.5))} (${print(Math.min(...values))}–${print(Math.max(...values))})`;

const cachedShare = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0) /
  samples.reduce((sum, { promptTokens }) => sum + promptTokens, 0);

function tableOf(runs: ReadonlyMap<string, readonly (readonly Sample[])[]>): string {
  const ms = (value: number): string => value.toFixed(0);
  const first = (samples: readonly Sample[], share: number): number =>
    quantile(
      samples.map(({ firstMs }) => firstMs),
      share,
    );
  return alignTable([
    ['load, who picks', 'cached share', 'first token p50, ms', 'p95, ms', 'requests', 'failed'],
    ...[...runs].map(([name, of]) => [
      name,
      spread(of.map(cachedShare), (share) => share.toFixed(2)),
      ...[0.5, 0.95].map((share) =>
        spread(
          of.map((samples) => first(samples, share)),
          ms,
        ),
      ),
      String(of.flat().length),
      String(of.flat().filter(({ failure }) => failure !== undefined).length),
    ]),
  ]);
}

async function main(folder: string): Promise<void> {
  const envoy = await findEnvoy({ env: process.env, report });
  const ports = await startEngines();
  const targets = new Map<string, Target>([
    ['round robin', await startRoundRobin(join(folder, 'plain'), envoy, ports)],
    ['cache_aware', await startSglangRouter(ports)],
    ['Weir', await startReplicas(folder, envoy, ports)],
  ]);
  const runs = new Map<string, (readonly Sample[])[]>();
  for (const load of Object.keys(loads) as Load[]) {
    for (const name of targets.keys()) runs.set(`${load}, ${name}`, []);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const load of Object.keys(loads) as Load[]) {
      // Another one begins each round.
      const order = [...targets]
        .map((_, index, all) => all[(index + round) % all.length])
        .filter((one) => one !== undefined);
      for (const [name, target] of order) {
        const mark = `${load} ${round} ${name} `;
        const samples = await runSessions(makeWorkload({ seed: round, mark, spanMs: loads[load] * 1000 }), target);
        runs.get(`${load}, ${name}`)?.push(samples);
        const failures = new Set(samples.map(({ failure }) => failure).filter((failure) => failure !== undefined));
        for (const failure of failures) report(`${load}, ${name}: ${failure}`);
        report(`round ${round}, ${load}, ${name}: cached ${cachedShare(samples).toFixed(2)}`);
      }
    }
  }
  console.log(tableOf(runs));
}

const folder = await mkdtemp(join(tmpdir(), 'weir-real-pool-'));
try {
  await main(folder);
} finally {
  for (const close of closers.toReversed()) await close();
  await rm(folder, { recursive: true, force: true });
}
