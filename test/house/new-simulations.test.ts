// @suite long
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { makePlan } from '../simulation/make-plan.ts';
import { runWorld } from '../simulation/run-world.ts';

/** How long new seeds are tried. A world that has begun is run to its end. */
const forMs = 45_000;

it('finds no broken promise in worlds that no one has seen', { timeout: 20 * forMs }, async () => {
  const first = randomInt(2 ** 31);
  const begunAt = performance.now();
  let worlds = 0;
  while (performance.now() - begunAt < forMs) {
    const seed = first + worlds;
    const { violations } = await runWorld(makePlan(seed));
    // `npm run simulate -- --seed SEED` shows the same world again, with the last events of each request concerned.
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    worlds += 1;
  }
  expect(worlds).toBeGreaterThan(0);
});
