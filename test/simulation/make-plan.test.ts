import { expect, it } from 'vitest';
import { seededChance } from '../programmable-engine/chance.ts';
import { isRequest } from './events.ts';
import { makePlan, requestOf } from './make-plan.ts';
import { pairsOf } from './pairs.ts';

it('crosses every pair of values that is possible within a virtual hour', () => {
  const chance = seededChance(1);
  const possible = new Set<string>();
  for (let id = 0; id < 40_000; id += 1) for (const pair of pairsOf(requestOf(id, 0, chance))) possible.add(pair);
  expect(possible.size).toBeGreaterThan(500);
  for (const seed of [1, 2, 3]) {
    const pairs = new Set(makePlan(seed).events.filter(isRequest).flatMap(pairsOf));
    expect({ seed, missing: [...possible].filter((pair) => !pairs.has(pair)) }).toEqual({ seed, missing: [] });
  }
});
