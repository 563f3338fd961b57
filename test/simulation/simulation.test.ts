// @suite long
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import type { WorldPlan } from './events.ts';
import { makePlan } from './make-plan.ts';
import { runWorld } from './run-world.ts';

const folder = join(import.meta.dirname, 'regressions');

it.each(globSync('*.json', { cwd: folder }).map((name) => [basename(name, '.json'), name] as const))(
  'keeps its promises in %s',
  async (_, name) => {
    const plan = JSON.parse(readFileSync(join(folder, name), 'utf8')) as WorldPlan;
    expect((await runWorld(plan)).violations).toEqual([]);
  },
);

it('gives the same log for the same seed', async () => {
  const plan = makePlan(7, 60);
  const [first, second] = [await runWorld(plan), await runWorld(plan)];
  expect(first.requests).toBeGreaterThanOrEqual(60);
  expect(second).toEqual(first);
});

it('gives another log for another seed', async () => {
  expect((await runWorld(makePlan(8, 5))).digest).not.toBe((await runWorld(makePlan(9, 5))).digest);
});
