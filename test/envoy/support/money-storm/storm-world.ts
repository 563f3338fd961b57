import { expect } from 'vitest';
import { type Caller, http1Caller } from '../caller.ts';
import { chanceFrom } from '../../../support/chance.ts';
import { picoUsd } from '../cost.ts';
import { spawnProgrammableEngine } from '../spawn-programmable-engine.ts';
import { startWeir, type Weir } from '../../../support/weir.ts';
import type { StormAccounts } from './storm-accounts.ts';
import { checkBooks } from './check-books.ts';
import { stormCatalog, stormPrices } from './storm-catalog.ts';
import { openStormExports } from './storm-exports.ts';
import { stormRequests } from './storm-kinds.ts';
import { reportStorm, type StormTally, tallyStorm } from './storm-report.ts';
import { runStorm, type StormProgress } from './storm-run.ts';

/** Gateways over two engines that misbehave on command, each with an Envoy and a service of its own. */
export interface StormWorld {
  readonly gateways: readonly Weir[];
  /** Kills a gateway's service; whoever started it starts it again. */
  readonly kill: (replica: number) => void;
  /** Resolves once each gateway's database is as asked. */
  readonly untilDatabase: (state: 'here' | 'away') => Promise<void>;
  /** Lets a storm of so many requests loose and holds every one of them against the ledger. */
  readonly storm: (options: {
    readonly name: string;
    readonly requests: number;
    readonly seed: number;
    readonly accounts: StormAccounts;
    /** How often the database goes down in `disasters`, for the report. */
    readonly outages: number;
    readonly disasters: (progress: StormProgress) => Promise<void>;
  }) => Promise<ReadonlyMap<string, StormTally>>;
  readonly close: () => Promise<void>;
}

const lanes = 48;
/** Exports of the ledger that are begun while a storm goes on. */
const exportsBeside = 6;

/** Starts so many gateways, each with these variables. */
export async function startStormWorld(count: number, env: Readonly<Record<string, string>> = {}): Promise<StormWorld> {
  const engines = [await spawnProgrammableEngine({}, 'alpha'), await spawnProgrammableEngine({}, 'beta')] as const;
  const gateways: Weir[] = [];
  for (let replica = 0; replica < count; replica += 1) {
    gateways.push(
      await startWeir({
        manifests: { 'catalog.yaml': stormCatalog(engines) },
        env: { WEIR_TRUSTED_HOPS: '1', WEIR_KEEP_ALIVE_SECONDS: '1', WEIR_LEDGER_RETENTION_DAYS: '1', ...env },
      }),
    );
  }
  const callers: readonly Caller[] = gateways.map(http1Caller);
  const kills: { readonly replica: number; readonly atMs: number }[] = [];
  const databases = (state: string): Promise<readonly number[]> =>
    // A service that is being started again has no metrics.
    Promise.all(gateways.map((weir) => weir.metric('weir_ledger_database', { state }).catch(() => 0)));

  const world: StormWorld = {
    gateways,
    kill: (replica) => {
      const pid = gateways[replica]?.pid('service');
      if (pid === undefined) throw new Error(`there is no gateway ${replica}`);
      kills.push({ replica, atMs: performance.now() });
      process.kill(pid, 'SIGKILL');
    },
    untilDatabase: async (state) => {
      await expect.poll(() => databases(state), { interval: 200 }).toEqual(gateways.map(() => 1));
    },
    storm: async ({ name, requests: amount, seed, accounts, outages, disasters }) => {
      const chance = chanceFrom(seed);
      const requests = stormRequests(amount, chance);
      const begunMs = performance.now();
      const exports = openStormExports(accounts.database);
      const exporting = async ({ until }: StormProgress): Promise<void> => {
        for (let part = 1; part <= exportsBeside; part += 1) {
          await until((amount * part) / (exportsBeside + 1));
          // It may have met the database away.
          while (!(await exports.take())) await world.untilDatabase('here');
        }
      };
      const records = await runStorm({
        ...{ requests, callers, keys: accounts.keys, lanes, chance },
        disasters: async (progress) => void (await Promise.all([disasters(progress), exporting(progress)])),
      });
      const tookMs = performance.now() - begunMs;
      await world.untilDatabase('here');
      for (const weir of gateways) await weir.settled();
      expect(await exports.take()).toBe(true);
      exports.close();
      // Retention has run in services that were killed in the middle of it.
      await expect.poll(accounts.oldRequests, { timeout: 120_000, interval: 1_000 }).toBe(0);
      const dispatched = new Set((await Promise.all(engines.map((engine) => engine.notes()))).flat());
      const [rows, drop, difference] = [await accounts.rows(), await accounts.drop(), await accounts.difference()];
      const tallies = tallyStorm(records, rows);
      console.log(reportStorm({ name, tallies, rows, kills: kills.length, outages, drop, difference, tookMs }));
      const keyExpiresMs = accounts.keyExpiresAt - performance.timeOrigin;
      const wrong = checkBooks({ records, rows, dispatched, kills, prices: stormPrices, keyExpiresMs });
      expect(wrong.slice(0, 20), `${wrong.length} in all`).toEqual([]);
      expect(rows.reduce((sum, row) => sum + picoUsd(row['cost']), 0n)).toBe(drop);
      expect(difference).toBe(0n);
      return tallies;
    },
    close: async () => {
      await Promise.all(callers.map((caller) => caller.close()));
      for (const weir of gateways) await weir.close();
      for (const engine of engines) await engine.close();
    },
  };
  return world;
}
