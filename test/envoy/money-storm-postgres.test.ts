// @suite long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStormAccounts } from './support/money-storm/storm-accounts.ts';
import { expectEveryKind } from './support/money-storm/storm-kinds-seen.ts';
import { startStormWorld, type StormWorld } from './support/money-storm/storm-world.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';

let server: Postgres;
let valkey: TestValkey;
let env: Readonly<Record<string, string>>;
let world: StormWorld;

beforeAll(async () => {
  [server, valkey] = await Promise.all([startPostgres(), startValkey()]);
  env = { WEIR_DATABASE_URL: await server.database('storm'), WEIR_VALKEY_URL: valkey.url };
  world = await startStormWorld(2, env);
});
afterAll(async () => {
  await world.close();
  await Promise.all([server.close(), valkey.close()]);
});

const requests = 10_000;

test('a storm on PostgreSQL, two services killed by turns and the server gone again and again, leaves books that balance', async () => {
  const accounts = await openStormAccounts({ flags: [], env });
  const tallies = await world.storm({
    ...{ name: 'PostgreSQL', requests, seed: 7, accounts, outages: 4 },
    disasters: async ({ until, served }) => {
      const part = requests / 11;
      for (const round of [0, 1, 2, 3]) {
        const replica = round % 2;
        await until(part * (2 * round + 1));
        world.kill(replica);
        await served(replica);
        await until(part * (2 * round + 2));
        // As a crash ends it, and as an operator does.
        await (round < 2 ? server.kill() : server.stop());
        await world.untilDatabase('away');
        // Some requests come and go meanwhile, on the journals.
        await until(part * (2 * round + 2) + 250);
        if (round === 1) await valkey.kill();
        // The next life finds its journal, and a database that is still away.
        if (round % 2 === 1) world.kill(1 - replica);
        await server.start();
        if (round === 1) await valkey.start();
        await Promise.all([served(0), served(1)]);
        await world.untilDatabase('here');
        await accounts.correct();
      }
    },
  });
  expectEveryKind(tallies);
  expect(tallies.get('turned away')?.sent).toBeGreaterThan(0);
}, 600_000);
