// @suite long
import { expect, it } from 'vitest';
import { makePlan } from '../simulation/make-plan.ts';
import { runWorld } from '../simulation/run-world.ts';

const seconds = 75;

// Other worlds in each run. What a seed finds is replayed with `npm run simulate -- --seed N --shrink`.
it('keeps its promises in new worlds', async () => {
  const until = performance.now() + seconds * 1000;
  let seed = Math.floor(Date.now() / 1000);
  for (; performance.now() < until; seed += 1) {
    const { violations } = await runWorld(makePlan(seed));
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  }
}, 300_000);
