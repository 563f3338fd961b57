import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runFolder } from '../../../../src/control/envoy/config/run-folder.ts';
import { createEnvoyAdmin, type EnvoyAdmin } from '../../../../src/control/envoy/runtime/admin.ts';
import { metricIn } from '../../../support/metric-in.ts';
import { type Postgres, startPostgres } from '../../../support/postgres.ts';
import { removeStarts, start, type Started } from '../../../support/start.ts';
import { startValkey, type TestValkey } from '../../../support/valkey.ts';
import { backendManifest, endpointsManifest, modelManifest } from '../../../support/weir.ts';
import { type Caller, http1Caller } from '../caller.ts';
import { collectsGarbage } from '../memory-in-use.ts';
import { openStormAccounts, type StormAccounts } from '../money-storm/storm-accounts.ts';
import { stormCatalog } from '../money-storm/storm-catalog.ts';
import { startSearchServer } from '../search-server.ts';
import { type SpawnedEngine, spawnProgrammableEngine } from '../spawn-programmable-engine.ts';
import { type Attackers, startAttackers } from './attackers.ts';
import { readsMetrics } from './service-metrics.ts';
import { soakModels } from './soak-kinds.ts';

/** An engine whose process can be killed and started again where it was. */
interface KilledEngine {
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
}

/** Three services behind one Envoy, as `weir start --replicas 3` has them, and everything around them. */
export interface SoakWorld {
  readonly gateway: Started;
  readonly admin: EnvoyAdmin;
  readonly postgres: Postgres;
  readonly valkey: TestValkey;
  readonly databaseName: string;
  readonly accounts: StormAccounts;
  readonly caller: Caller;
  readonly probeKey: string;
  /** Seen by the models of the storm; they live as long as the soak. */
  readonly engines: readonly [SpawnedEngine, SpawnedEngine];
  /** The endpoints of one backend. */
  readonly killedEngines: readonly KilledEngine[];
  readonly attackers: Attackers;
  /** A model more in the catalog, or gone from it. */
  readonly changeCatalog: (hasOneMore: boolean) => void;
  /** The text of each service's metrics; rejects while one is away. */
  readonly metrics: () => Promise<readonly string[]>;
  /** Whether this metric is so in all services; rejects while one is away. */
  readonly allHave: (name: string, value: number, labels?: Readonly<Record<string, string>>) => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export const services = 3;
const databaseName = 'soak';
/** USD of one search, and the same as the ledger counts it. */
const searchPrice = '0.005';
export const searchPicoUsd = 5_000_000_000n;

/** A metric that no service has is a mistake in the soak, and no value of it. */
class MissingMetric extends Error {}

/** Waits until this holds; what rejects does not hold. Rejects with what was waited for. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 90_000): Promise<void> {
  const end = performance.now() + withinMs;
  const look = (): Promise<boolean> =>
    holds().catch((error: unknown) => {
      if (error instanceof MissingMetric) throw error;
      return false;
    });
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${withinMs / 1000} s passed, and not yet: ${what}`);
    await pause(50);
  }
}

function catalogOf(
  engines: readonly [SpawnedEngine, SpawnedEngine],
  ports: { readonly killed: readonly number[]; readonly hostile: number },
): string {
  const pair = (name: string): readonly [string, string] => [`backend-of-test-${name}-0`, `backend-of-test-${name}-1`];
  // Each has backends of its own, so that what is broken on one is not held against the routes of another.
  const models = [soakModels.usual, soakModels.broken, soakModels.probed, soakModels.attacked].map((id) => {
    const names = pair(id.replace('/', '-'));
    const backends = names.map((name, index) => backendManifest(name, engines[index] ?? engines[0])).join('');
    return backends + modelManifest(id, names, id === soakModels.usual ? '  inputModalities: [text, image]' : '');
  });
  return [
    stormCatalog(engines),
    ...models,
    endpointsManifest(
      'backend-of-test-killed',
      ports.killed.map((port) => ({ port })),
    ),
    modelManifest(soakModels.killed, ['backend-of-test-killed']),
    backendManifest('hostile', { port: ports.hostile }),
    // Free: an engine that lies about its usage would soon use up what the attackers spend.
    modelManifest(soakModels.hostile, ['hostile']).replace(/pricing: .*/, 'pricing: {prompt: "0", completion: "0"}'),
  ].join('');
}

async function killable(
  name: string,
): Promise<KilledEngine & { readonly port: number; readonly close: () => Promise<void> }> {
  let engine: SpawnedEngine | undefined = await spawnProgrammableEngine({ reasoning: 'never' }, name);
  const { port } = engine;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = engine;
    engine = undefined;
    await ending?.close(signal);
  };
  return {
    port,
    kill: () => end('SIGKILL'),
    start: async () => {
      engine ??= await spawnProgrammableEngine({ reasoning: 'never' }, name, port);
    },
    close: () => end('SIGTERM'),
  };
}

/** Starts it all. What was started before something fails is ended again. */
export async function startSoakWorld(): Promise<SoakWorld> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const postgres = await startPostgres();
    closers.push(postgres.close);
    const valkey = await startValkey();
    closers.push(valkey.close);
    const engines = [await spawnProgrammableEngine({}, 'alpha'), await spawnProgrammableEngine({}, 'beta')] as const;
    closers.push(...engines.map((engine) => () => engine.close()));
    const killedEngines = [await killable('gamma'), await killable('delta')];
    closers.push(...killedEngines.map((engine) => engine.close));
    const searches = await startSearchServer();
    closers.push(searches.close);
    const attackers = await startAttackers();
    closers.push(attackers.close);

    const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const manifests = join(folder, 'manifests');
    mkdirSync(manifests);
    const sealKey = join(folder, 'seal.key');
    writeFileSync(sealKey, randomBytes(32).toString('base64'));
    const ports = { killed: killedEngines.map(({ port }) => port), hostile: attackers.enginePort };
    const catalog = catalogOf(engines, ports);
    const changeCatalog = (hasOneMore: boolean): void => {
      const more = hasOneMore ? modelManifest(soakModels.changing, ['backend-of-test-counting-0']) : '';
      writeFileSync(join(manifests, 'catalog.yaml'), catalog + more);
    };
    changeCatalog(false);

    const stores = { WEIR_DATABASE_URL: await postgres.database(databaseName), WEIR_VALKEY_URL: valkey.url };
    const gateway = await start(['--manifests', manifests, '--replicas', String(services)], {
      env: {
        ...stores,
        ...collectsGarbage,
        ...{
          WEIR_TRUSTED_HOPS: '1',
          WEIR_KEEP_ALIVE_SECONDS: '1',
          WEIR_LEDGER_RETENTION_DAYS: '1',
          WEIR_RESPONSES: 'stateless',
        },
        ...{
          WEIR_WEB_SEARCH: `searxng:${searches.url}`,
          WEIR_WEB_SEARCH_PRICE: searchPrice,
          WEIR_SEAL_KEY_FILE: sealKey,
        },
      },
    });
    closers.push(removeStarts);
    const metrics = readsMetrics(gateway, services);
    const allHave: SoakWorld['allHave'] = async (name, value, labels) => {
      const texts = await metrics();
      if (texts.some((text) => !text.includes(`\n${name}`))) throw new MissingMetric(`no service has ${name}`);
      return texts.every((text) => metricIn(text, name, labels) === value);
    };

    const accounts = await openStormAccounts({ flags: [], env: stores });
    const { origin } = new URL(gateway.baseUrl);
    const caller = http1Caller({ origin, key: accounts.keys.rich, watch: () => undefined });
    closers.push(caller.close);
    const admin = createEnvoyAdmin(runFolder(join(gateway.data, 'run')));
    closers.push(admin.close);
    attackers.aim({
      ...{ port: Number(new URL(origin).port), neighbourKeys: [], attackerKey: await accounts.keyBeside('attackers') },
      ...{ model: soakModels.attacked, hostileModel: soakModels.hostile },
    });
    return {
      ...{ gateway, admin, postgres, valkey, databaseName, accounts, caller, engines, killedEngines, attackers },
      ...{ changeCatalog, metrics, allHave, close },
      probeKey: await accounts.keyBeside('probe'),
    };
  } catch (error) {
    await close();
    throw error;
  }
}
