// @suite long
import { expect, test } from 'vitest';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { exportBeside } from '../play/exports.ts';
import { settleOldRequests } from '../play/old-requests.ts';
import { playPlan } from '../play/play.ts';
import { startPlayedProcesses } from '../play/played-processes.ts';
import { type Happening, makeRealPlan } from '../play/real-plan.ts';
import { expectStorm, stormMs, stormReport, stormRequests } from '../play/storm.ts';
import { startPostgres } from '../support/postgres.ts';
import { startValkey } from '../support/valkey.ts';
import { forFile } from '../support/for-file.ts';

const [server, valkey] = await forFile(Promise.all([startPostgres(), startValkey()]));
const env = {
  WEIR_DATABASE_URL: await server.database('storm'),
  WEIR_VALKEY_URL: valkey.url,
};
const processes = await forFile(startPlayedProcesses(2, env));

const kill = (service: number): Happening[1] => ({ kind: 'kill', service, downMs: 0 });
const away: Happening[1] = { kind: 'locked', forMs: 3_000 };
const happens: readonly Happening[] = [
  [0.05, kill(0)],
  [0.12, away],
  [0.3, kill(1)],
  // The next life finds its journal, and a database that is still away.
  [0.44, away],
  [0.46, kill(0)],
  [0.62, { kind: 'valkey', trouble: 'away', forMs: 2_000 }],
  [0.78, away],
  [0.88, { kind: 'valkey', trouble: 'slow', forMs: 1_000 }],
  [0.95, kill(1)],
];

test(
  'a storm on PostgreSQL, two services killed by turns and the server gone again and again, leaves books that balance',
  async () => {
    const location = databaseLocation({ url: env.WEIR_DATABASE_URL });
    const countOld = await settleOldRequests(location);
    const plan = makeRealPlan({
      seed: 7,
      requests: stormRequests(1_500),
      services: 2,
      perSecond: 30,
      happens,
      identities: true,
    });
    let outages = 0;
    let exports = 0;
    const played = await playPlan(
      plan,
      {
        ...{ ...processes, location, valkey },
        takeDatabase: async () => {
          // As a crash ends it, and as an operator does.
          await (outages % 2 === 0 ? server.kill() : server.stop());
          outages += 1;
          return server.start;
        },
      },
      async (isOver) => {
        exports = await exportBeside(`ws0-${plan.seed}`, { location, flags: [], env }, isOver);
      },
    );
    console.log(stormReport('PostgreSQL', played));
    expectStorm(played);
    expect(outages).toBe(3);
    expect(exports).toBeGreaterThan(2);
    // Retention has run in services that were killed in the middle of it.
    await expect.poll(countOld, { timeout: 120_000, interval: 1_000 }).toBe(0);
  },
  stormMs(1_500),
);
