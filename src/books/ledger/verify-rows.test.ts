// @suite both-databases
import { type RawBuilder, sql } from 'kysely';
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { createKey } from '../accounts/keys.ts';
import { verifyHour, verifyHourInSlices } from './verify-rows.ts';

const minute = 60_000;

it.each([60, 20, 7, 1])('an hour in slices of %i minutes has each of its requests once', async (minutes) => {
  const { queries, ids, settle } = await sampleDatabase();
  const moments = [0, 1, 19, 20, 59, 60, 61].map((at) => sampleNow + at * minute);
  await settle(moments.map((startedAt) => sampleOutcome({ ...ids, requestId: `r${startedAt}`, startedAt })));
  const verifying = verifyHourInSlices(queries, sampleNow, minutes * minute);
  let [slices, result] = [0, await verifying.next()];
  for (; !result.done; result = await verifying.next()) slices += 1;
  expect([slices, result.value]).toEqual([Math.ceil(60 / minutes), []]);
});

it.each<[string, Partial<Outcome>]>([
  ['key', {}],
  ['model', { modelId: 'another/model' }],
  ['surface', { surface: 'messages' }],
  ['outcome', { kind: 'cancelled' }],
])('costs of two requests that differ in their %s are not added up', async (what, fields) => {
  const { queries, ids, settle } = await sampleDatabase();
  const { key } = await createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  const other = { ...ids, ...(what === 'key' ? { keyId: key.id } : fields) };
  const both = { startedAt: sampleNow, surface: 'chat' } as const;
  await settle([
    sampleOutcome({ ...both, ...ids, requestId: 'r1', cost: 5n }),
    sampleOutcome({ ...both, ...other, requestId: 'r2', cost: 7n }),
  ]);
  const after = async (change: RawBuilder<unknown>) => {
    await change.execute(queries);
    return verifyHour(queries, sampleNow);
  };
  expect(await after(sql`select 1`)).toEqual([]);
  expect(await after(sql`update requests set cost = 12 - cost`)).toEqual(['cost']);
  expect(await after(sql`update requests set cost = 12 - cost`)).toEqual([]);
  expect(await after(sql`update requests set cost = 6 where cost = 5`)).toEqual(['cost']);
});
