// @suite both-databases
import { expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { Authorship } from '../core/administration.ts';
import { listAudit } from './audit.ts';
import { recordModelPrices } from './model-prices.ts';

const by = (now: number): Authorship => ({ actor: { kind: 'service', name: 'prices' }, now });
const prices = (prompt: string) => ({ prompt, completion: '0.000002', input_cache_read: '0' });
const some = (of: Readonly<Record<string, string>>) =>
  new Map(Object.entries(of).map(([id, prompt]) => [id, prices(prompt)]));

it('keeps each change of a price once, with the one before, also back to an earlier one', async () => {
  const { queries } = await sampleDatabase();
  expect(await recordModelPrices(queries, some({ 'a/a': '0.1', 'b/b': '0.2' }), by(1))).toBe(2);
  expect(await recordModelPrices(queries, some({ 'a/a': '0.1', 'b/b': '0.2' }), by(2))).toBe(0);
  expect(await recordModelPrices(queries, some({ 'a/a': '0.3', 'b/b': '0.2' }), by(3))).toBe(1);
  // A model that is away for a while, because no service answers, keeps its last price.
  expect(await recordModelPrices(queries, new Map(), by(4))).toBe(0);
  expect(await recordModelPrices(queries, some({ 'a/a': '0.1' }), by(5))).toBe(1);
  const entries = await listAudit(queries, { action: 'model.price', objectId: 'a/a' }, 10);
  expect(entries.map(({ at, before, after }) => [at, before?.['prompt'], after['prompt']])).toEqual([
    [5, '0.3', '0.1'],
    [3, '0.1', '0.3'],
    [1, undefined, '0.1'],
  ]);
  expect(entries[0]).toMatchObject({ workspaceId: undefined, actor: { kind: 'service', name: 'prices' } });
});

it('keeps a change once when several portals see it at the same time', async () => {
  const { queries } = await sampleDatabase();
  const seen = some(Object.fromEntries(Array.from({ length: 30 }, (_, count) => [`m/${count}`, '0.5'])));
  await Promise.all(Array.from({ length: 4 }, () => recordModelPrices(queries, seen, by(sampleNow))));
  expect(await listAudit(queries, { action: 'model.price' }, 1_000)).toHaveLength(30);
});
