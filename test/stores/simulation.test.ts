// @suite long
import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { WorldPlan } from '../simulation/events.ts';
import { makePlan } from '../simulation/make-plan.ts';
import { onPostgres } from '../simulation/postgres.ts';
import { runWorld } from '../simulation/run-world.ts';
import { databaseOfThisFile } from '../support/sample-database.ts';

// Worlds of test/simulation on a real PostgreSQL server.

const server = inject('postgres') ?? '';
const requests = 260;
/** The server makes a world twenty times slower: new worlds are SQLite's task (test/house/new-simulations.test.ts). */
const newWorlds = 2;

it('keeps its promises in worlds that no one has seen', { timeout: 300_000 }, async () => {
  const database = onPostgres(await databaseOfThisFile(server));
  const first = randomInt(2 ** 31);
  for (let seed = first; seed < first + newWorlds; seed += 1) {
    // `npm run simulate -- --seed SEED --requests 260 --postgres URL` shows the same world again.
    const { violations } = await runWorld(makePlan(seed, requests), database);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  }
});

const folder = join(import.meta.dirname, '../simulation/regressions');

it.each(globSync('*.json', { cwd: folder }))('keeps its promises in %s', { timeout: 120_000 }, async (name) => {
  const database = onPostgres(await databaseOfThisFile(server));
  const plan = JSON.parse(readFileSync(join(folder, name), 'utf8')) as WorldPlan;
  expect((await runWorld(plan, database)).violations).toEqual([]);
});

it('gives the same log for the same seed', { timeout: 120_000 }, async () => {
  const database = onPostgres(await databaseOfThisFile(server));
  const plan = makePlan(7, requests / 4);
  expect(await runWorld(plan, database)).toEqual(await runWorld(plan, database));
});
