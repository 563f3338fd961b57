import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startAlerts } from './find-alerts.ts';

/** The alerts of a service that sends nothing, and when they look for thresholds. */
function sampleAlerts(changes: () => number | undefined) {
  const clock = createFakeClock();
  const failing = { isFailing: false };
  let looks = 0;
  const closings: number[] = [];
  const alerts = startAlerts({
    store: {
      recordReached: async () => {
        looks += 1;
        if (failing.isFailing) throw new Error('the database is down');
        return 0;
      },
      avoidableLimits: async () => [],
      keepSubscriptions: async () => undefined,
      closeMonths: async (now) => void closings.push(now),
    },
    ...{ clock, changes, subscriptions: [], log: () => undefined },
  });
  return {
    ...{ clock, failing, closings },
    close: alerts.close,
    /** The looks for thresholds in a minute. */
    looksInMinute: async (): Promise<number> => {
      const before = looks;
      for (let step = 0; step < 6; step += 1) {
        clock.advance(10_000);
        // The next look is due ten seconds after the end of this one.
        await nextTurn();
      }
      return looks - before;
    },
  };
}

it('looks for thresholds once after each change of the database', async () => {
  let changes = 1;
  const { looksInMinute, close } = sampleAlerts(() => changes);
  expect(await looksInMinute()).toBe(1);
  expect(await looksInMinute()).toBe(0);
  changes = 2;
  expect(await looksInMinute()).toBe(1);
  await close();
});

it('closes months at the start, and six hours after the end of each', async () => {
  const { clock, closings, looksInMinute, close } = sampleAlerts(() => 1);
  await looksInMinute();
  expect(closings).toHaveLength(1);
  const next = new Date(clock.now());
  const closesAt = Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 1, 6);
  clock.advance(closesAt - clock.now() - 60_001);
  await looksInMinute();
  expect(closings).toHaveLength(1);
  await looksInMinute();
  expect(closings).toHaveLength(2);
  await close();
});

it('looks every ten seconds if the database may have changed at any time', async () => {
  const { looksInMinute, close } = sampleAlerts(() => undefined);
  expect(await looksInMinute()).toBe(6);
  await close();
});

it('looks again until a look after the change has succeeded', async () => {
  const { looksInMinute, failing, close } = sampleAlerts(() => 1);
  failing.isFailing = true;
  expect(await looksInMinute()).toBe(6);
  failing.isFailing = false;
  expect(await looksInMinute()).toBe(1);
  await close();
});
