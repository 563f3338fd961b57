// @suite long
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStormAccounts } from './support/money-storm/storm-accounts.ts';
import { expectEveryKind } from './support/money-storm/storm-kinds-seen.ts';
import { startStormWorld, type StormWorld } from './support/money-storm/storm-world.ts';

let world: StormWorld;

beforeAll(async () => {
  world = await startStormWorld(1);
});
afterAll(() => world.close());

/** Has the file locked for writing, so that nothing can be settled, until it is called. */
async function lockDatabase(file: string): Promise<() => void> {
  const database = new DatabaseSync(file, { timeout: 0 });
  for (;;) {
    try {
      database.exec('begin exclusive');
      return () => database.close();
    } catch {
      // The service is writing just now.
      await pause(3);
    }
  }
}

const requests = 10_000;

test('a storm on SQLite, its service killed and its database away again and again, leaves books that balance', async () => {
  const { data = '' } = world.gateways[0] ?? {};
  const accounts = await openStormAccounts({ flags: ['--data', data], env: {} });
  const away = async (meanwhile: () => Promise<void>): Promise<void> => {
    const unlock = await lockDatabase(join(data, 'weir.db'));
    try {
      await world.untilDatabase('away');
      await meanwhile();
    } finally {
      unlock();
    }
  };
  const tallies = await world.storm({
    ...{ name: 'SQLite', requests, seed: 6, accounts, outages: 4 },
    disasters: async ({ until, served }) => {
      const part = requests / 11;
      for (const round of [0, 1, 2, 3]) {
        await until(part * (2 * round + 1));
        world.kill(0);
        await served(0);
        await until(part * (2 * round + 2));
        // Some requests come and go meanwhile, on the journal.
        await away(async () => {
          await until(part * (2 * round + 2) + 250);
          // The next life finds the journal, and a database that is still away.
          if (round % 2 === 1) world.kill(0);
        });
        await served(0);
        await world.untilDatabase('here');
        await accounts.correct();
      }
    },
  });
  expectEveryKind(tallies);
  expect(tallies.get('turned away')?.sent).toBeGreaterThan(0);
}, 600_000);
