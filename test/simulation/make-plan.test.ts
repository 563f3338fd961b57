import { expect, it } from 'vitest';
import { usualSurfaces } from '../../src/core/api-paths.ts';
import { type ChatSurface, chatSurfaces } from '../../src/core/dialect.ts';
import { seededChance } from '../programmable-engine/chance.ts';
import { isRequest } from './events.ts';
import { makePlan, requestOf } from './make-plan.ts';
import { pairName, pairsOf } from './pairs.ts';

it('crosses every pair of values that is possible within a virtual hour', () => {
  const chance = seededChance(1);
  const possibleIn = (served: readonly ChatSurface[]): ReadonlySet<number> => {
    const possible = new Set<number>();
    for (let id = 0; id < 60_000; id += 1)
      for (const pair of pairsOf(requestOf(id, 0, { chance, served }))) possible.add(pair);
    return possible;
  };
  const [usual, all] = [possibleIn(usualSurfaces), possibleIn(chatSurfaces)];
  expect(usual.size).toBeGreaterThan(500);
  const plans = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => makePlan(seed));
  expect(new Set(plans.map(({ responses }) => responses)).size).toBe(2);
  for (const { seed, events, responses } of plans) {
    const possible = responses ? all : usual;
    const pairs = new Set(events.filter(isRequest).flatMap(pairsOf));
    expect({ seed, missing: [...possible].filter((pair) => !pairs.has(pair)).map(pairName) }).toEqual({
      seed,
      missing: [],
    });
  }
});
