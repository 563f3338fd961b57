import { expect, it } from 'vitest';
import { chanceFrom } from '../../support/chance.ts';
import { sampledLines } from './sampled-lines.ts';

it('draws all lines, or none', () => {
  expect(sampledLines(45, 1, chanceFrom(1))).toEqual([
    [1, 20],
    [21, 40],
    [41, 45],
  ]);
  expect(sampledLines(45, 0, chanceFrom(1))).toEqual([]);
});

it('draws about the share that was asked for, the same lines for the same seed', () => {
  const drawn = sampledLines(200_000, 0.1, chanceFrom(7));
  expect(drawn).toEqual(sampledLines(200_000, 0.1, chanceFrom(7)));
  expect(drawn.length).toBeGreaterThan(900);
  expect(drawn.length).toBeLessThan(1_100);
});
