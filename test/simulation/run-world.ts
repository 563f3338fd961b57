import { createHash } from 'node:crypto';
import type { WorldPlan } from './events.ts';
import { isRequest } from './events.ts';
import { createInvariants, type Invariants, type Violation } from './invariants.ts';
import { withSeededCrypto } from './seeded-crypto.ts';
import type { Situations } from './situations.ts';
import { loadSqlite } from './sqlite.ts';
import { type MakeDatabase, onSqlite } from './world-database.ts';
import type { World } from './world-view.ts';
import { createWorld } from './world.ts';

export interface WorldResult {
  readonly requests: number;
  readonly violations: readonly Violation[];
  readonly digest: string;
  readonly situations: Situations;
  /** The newest lines about each violation. */
  readonly excerpts: readonly string[];
}

const booksEveryMs = 60_000;
/** Sums over the whole ledger take long, so they are verified only at some of these moments, and at rest. */
const allBooksEveryMs = 300_000;
const hourMs = 3_600_000;

/** What looks at a world beside its invariants. */
export type WorldWatch = Omit<Invariants, 'violations'>;

const noWatch: WorldWatch = {
  check: () => undefined,
  checkBooks: () => Promise.resolve(),
  checkRest: () => Promise.resolve(),
};

/** Runs a world from its plan to its end, on SQLite unless another database is given. The same plan gives the same result. */
export async function runWorld(
  plan: WorldPlan,
  database?: MakeDatabase,
  watch: (world: World) => WorldWatch = () => noWatch,
): Promise<WorldResult> {
  const makeDatabase = database ?? onSqlite(await loadSqlite());
  return withSeededCrypto(plan.seed, async () => {
    const world = await createWorld(plan, makeDatabase);
    const invariants = createInvariants(world);
    const watcher = watch(world);
    const check = (): void => {
      invariants.check();
      watcher.check();
    };
    try {
      const until = plan.hours * hourMs;
      const last = plan.events.at(-1)?.at ?? 0;
      for (let at = booksEveryMs; at < Math.max(until, last) + booksEveryMs; at += booksEveryMs) {
        await world.runUntil(at, check);
        const how = at % allBooksEveryMs === 0 ? 'all' : 'new';
        await invariants.checkBooks(how);
        await watcher.checkBooks(how);
        // What follows a broken promise breaks further ones.
        if (invariants.violations().length > 0) break;
      }
      if (invariants.violations().length === 0) {
        await world.calmDown(check);
        await invariants.checkRest();
        await watcher.checkRest();
      }
    } catch (error) {
      throw new Error(`the world of seed ${plan.seed} cannot go on`, { cause: error });
    } finally {
      await world.stop();
    }
    const { log } = world.scheduler;
    const violations = invariants.violations();
    return {
      requests: plan.events.filter(isRequest).length,
      violations,
      digest: log.digest(),
      situations: world.situations(),
      excerpts: violations
        .slice(0, 3)
        .flatMap(({ request }) => (request === undefined ? log.newest(40) : log.about(`r${request} `).slice(-20))),
    };
  });
}

export function digestOf(digests: readonly string[]): string {
  return createHash('sha256').update(digests.join('\n')).digest('hex');
}
