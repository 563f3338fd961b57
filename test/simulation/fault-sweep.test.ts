// @suite long slow
import { expect, it } from 'vitest';
import { surfaces } from '../../src/core/dialect.ts';
import { isRequest } from './events.ts';
import { makeSweep } from './make-sweep.ts';
import { runWorld } from './run-world.ts';

/** Of the requests that one engine breaks, a third meet it. Others find it ejected, or are whole before the place of the fault. */
const minShareMet = 0.2;

it.each(surfaces)('keeps its promises on %s wherever an answer breaks', { timeout: 1_200_000 }, async (surface) => {
  const plan = makeSweep(surface, { seed: 20_260_801, oneOf: surface === 'chat' ? 3 : 4 });
  const counts = { asked: 0, failedOver: 0, resumed: 0 };
  const { violations } = await runWorld(plan, undefined, ({ attempts }) => ({
    check: () => undefined,
    checkBooks: () => Promise.resolve(),
    checkRest: () => {
      for (const tried of attempts.values()) {
        if (tried.length > 1) counts.failedOver += 1;
        if (tried.some(({ start }) => start.reason === 'resume')) counts.resumed += 1;
      }
      return Promise.resolve();
    },
  }));
  counts.asked = plan.events.filter(isRequest).length;
  console.log(surface, counts);
  expect(violations).toEqual([]);
  expect(counts.failedOver / counts.asked).toBeGreaterThan(minShareMet);
});
