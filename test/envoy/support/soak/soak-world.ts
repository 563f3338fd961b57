import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseLocation } from '../../../../src/books/databases/database.ts';
import { databaseLocation } from '../../../../src/books/databases/database-location.ts';
import { runFolder } from '../../../../src/control/envoy/config/run-folder.ts';
import { createEnvoyAdmin, type EnvoyAdmin } from '../../../../src/control/envoy/runtime/admin.ts';
import type { Surroundings } from '../../../play/disasters.ts';
import { type Gateways, playedSettings } from '../../../play/gateways.ts';
import { playedManifests, upstreamModel } from '../../../play/played-catalog.ts';
import { type PlayedEngine, startPlayedEngine } from '../../../play/played-engine.ts';
import { startPlayedSearch } from '../../../play/played-search.ts';
import { enginesOf, windows } from '../../../simulation/catalog.ts';
import { type Postgres, startPostgres } from '../../../support/postgres.ts';
import { removeStarts, start, type Started } from '../../../support/start.ts';
import { startValkey, type TestValkey } from '../../../support/valkey.ts';
import { collectsGarbage } from '../memory-in-use.ts';
import { attackedManifests, attackedModels, keysBeside } from './attacked-models.ts';
import { type Attackers, startAttackers } from './attackers.ts';
import { readsMetrics } from './service-metrics.ts';

/** Three services behind one Envoy, as `weir start --replicas 3` has them, and everything around them. */
export interface SoakWorld extends Pick<Surroundings, 'gateways' | 'engines' | 'search'> {
  readonly gateway: Started;
  readonly admin: EnvoyAdmin;
  readonly postgres: Postgres;
  readonly valkey: TestValkey;
  readonly databaseName: string;
  readonly location: DatabaseLocation;
  readonly probeKey: string;
  readonly attackers: Attackers;
  readonly close: () => Promise<void>;
}

export const services = 3;
const databaseName = 'soak';

/** Starts it all. What was started before something fails is ended again. */
export async function startSoakWorld(): Promise<SoakWorld> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  const opened = async <Opened extends { readonly close: () => unknown }>(
    opening: Promise<Opened>,
  ): Promise<Opened> => {
    const it = await opening;
    closers.push(it.close);
    return it;
  };
  try {
    const postgres = await opened(startPostgres());
    const valkey = await opened(startValkey());
    const engines: PlayedEngine[] = [];
    for (const { name } of enginesOf) engines.push(await opened(startPlayedEngine(name, upstreamModel)));
    const search = await opened(startPlayedSearch());
    const attackers = await opened(startAttackers());

    const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const manifests = join(folder, 'manifests');
    mkdirSync(manifests);
    const sealKeyFile = join(folder, 'seal.key');
    writeFileSync(sealKeyFile, randomBytes(32).toString('base64'));
    const extra = attackedManifests(engines, attackers.enginePort);
    const writeCatalog = (catalog: string): void => writeFileSync(join(manifests, 'catalog.yaml'), catalog + extra);
    writeCatalog(playedManifests(engines, ['a', 'b'], { factor: 1, window: windows.usual }));

    const stores = { WEIR_DATABASE_URL: await postgres.database(databaseName), WEIR_VALKEY_URL: valkey.url };
    const gateway = await start(['--manifests', manifests, '--replicas', String(services)], {
      env: { ...playedSettings(search.url, sealKeyFile), ...stores, ...collectsGarbage },
    });
    closers.push(removeStarts);
    const admin = await opened(Promise.resolve(createEnvoyAdmin(runFolder(join(gateway.data, 'run')))));
    const { origin, port } = new URL(gateway.baseUrl);
    const gateways: Gateways = {
      origins: Array.from({ length: services }, () => origin),
      folders: [gateway.data],
      writeCatalog,
      pid: (number) => gateway.processes()[`service ${number + 1}`],
      metrics: readsMetrics(gateway, services),
      close,
    };
    const location = databaseLocation({ url: stores.WEIR_DATABASE_URL });
    const [probeKey = '', attackerKey = ''] = await keysBeside(location, ['probe', 'attackers'], 1_000);
    attackers.aim({
      ...{ port: Number(port), neighbourKeys: [], attackerKey },
      ...{ model: attackedModels.shared, hostileModel: attackedModels.hostile },
    });
    return {
      ...{ gateway, gateways, admin, postgres, valkey, databaseName, location, engines, search, attackers },
      ...{ probeKey, close },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
