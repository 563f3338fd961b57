import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatUsd } from '../../src/core/money.ts';
import { searchPrice } from '../simulation/catalog.ts';
import { startWeir, type Weir } from '../support/weir.ts';

/** The services that a plan is played on, by number, each with a way to it through Envoy. */
export interface Gateways {
  readonly origins: readonly string[];
  /** What they keep on the disk. */
  readonly folders: readonly string[];
  readonly writeCatalog: (manifests: string) => void;
  /** The process of a service. Undefined: it is being started again. */
  readonly pid: (number: number) => number | undefined;
  /** What each service counts. Rejects while one of them is away. */
  readonly metrics: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Settings under which faults are over soon, and services do what the simulation's services do. `searchUrl`: of the provider of web search. */
export const playedSettings = (searchUrl: string, sealKeyFile: string): Readonly<Record<string, string>> => ({
  ...{ WEIR_TRUSTED_HOPS: '1', WEIR_KEEP_ALIVE_SECONDS: '1', WEIR_IDLE_SECONDS: '2', WEIR_LEDGER_RETENTION_DAYS: '1' },
  ...{ WEIR_RESPONSES: 'stateless', WEIR_SEAL_KEY_FILE: sealKeyFile },
  ...{ WEIR_WEB_SEARCH: `searxng:${searchUrl}`, WEIR_WEB_SEARCH_PRICE: formatUsd(searchPrice) },
});

/** Starts so many gateways, each with an Envoy and a service of its own. */
export async function startGateways(
  count: number,
  given: {
    readonly manifests: string;
    readonly searchUrl: string;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<Gateways> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-play-'));
  const sealKeyFile = join(folder, 'seal.key');
  writeFileSync(sealKeyFile, randomBytes(32).toString('base64'));
  const weirs: Weir[] = [];
  // One after the other: the first one makes the accounts that all share.
  while (weirs.length < count)
    weirs.push(
      await startWeir({
        manifests: { 'catalog.yaml': given.manifests },
        env: { ...playedSettings(given.searchUrl, sealKeyFile), ...given.env },
      }),
    );
  return {
    origins: weirs.map(({ origin }) => origin),
    folders: weirs.map(({ data }) => data),
    writeCatalog: (manifests) => {
      for (const weir of weirs) writeFileSync(join(weir.manifests, 'catalog.yaml'), manifests);
    },
    pid: (number) => {
      try {
        return weirs[number]?.pid('service');
      } catch {
        return undefined;
      }
    },
    metrics: () => Promise.all(weirs.map(async ({ opsUrl }) => (await fetch(opsUrl)).text())),
    close: async () => {
      for (const weir of weirs) await weir.close();
      rmSync(folder, { recursive: true });
    },
  };
}
