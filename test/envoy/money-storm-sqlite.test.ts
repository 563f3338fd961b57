// @suite long
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { exportBeside } from '../play/exports.ts';
import { settleOldRequests } from '../play/old-requests.ts';
import { playPlan } from '../play/play.ts';
import { startPlayedProcesses } from '../play/played-processes.ts';
import { type Happening, makeRealPlan } from '../play/real-plan.ts';
import { expectStorm, stormMs, stormReport, stormRequests } from '../play/storm.ts';
import { forFile } from '../support/for-file.ts';

const processes = await forFile(startPlayedProcesses(1));

/** Has the file locked for writing, so that nothing can be settled, until it is called. */
async function lockDatabase(file: string): Promise<() => Promise<void>> {
  const database = new DatabaseSync(file, { timeout: 0 });
  for (;;) {
    try {
      database.exec('begin exclusive');
      return async () => database.close();
    } catch {
      // The service is writing just now.
      await pause(3);
    }
  }
}

const kill: Happening[1] = { kind: 'kill', service: 0, downMs: 0 };
const locked: Happening[1] = { kind: 'locked', forMs: 3_000 };
const happens: readonly Happening[] = [
  [0.05, kill],
  [0.12, locked],
  [0.3, kill],
  // The next life finds the journal, and a database that is still away.
  [0.44, locked],
  [0.46, kill],
  [0.62, { kind: 'engine', engine: 'a1', state: 'refuses', forMs: 2_000 }],
  [0.68, { kind: 'pause', service: 0, forMs: 800 }],
  [0.78, locked],
  [0.8, { kind: 'search', trouble: 'fails', forMs: 2_000 }],
  [0.9, kill],
];

test(
  'a storm on SQLite, its service killed and its database away again and again, leaves books that balance',
  async () => {
    const [data = ''] = processes.gateways.folders;
    const file = join(data, 'weir.db');
    const location = { kind: 'sqlite', file } as const;
    const countOld = await settleOldRequests(location);
    const plan = makeRealPlan({
      seed: 6,
      requests: stormRequests(1_500),
      services: 1,
      perSecond: 30,
      happens,
      identities: true,
    });
    let exports = 0;
    const played = await playPlan(
      plan,
      { ...processes, location, takeDatabase: () => lockDatabase(file) },
      async (isOver) => {
        exports = await exportBeside(`ws0-${plan.seed}`, { location, flags: ['--data', data], env: {} }, isOver);
      },
    );
    console.log(stormReport('SQLite', played));
    expectStorm(played);
    expect(exports).toBeGreaterThan(2);
    // Retention has run in a service that was killed in the middle of it.
    await expect.poll(countOld, { timeout: 120_000, interval: 1_000 }).toBe(0);
  },
  stormMs(1_500),
);
