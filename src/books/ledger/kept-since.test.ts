// @suite both-databases
import { expect, it } from 'vitest';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { keptSince, setKeptSince } from './kept-since.ts';

it('the moment from which on all requests are kept never goes back', async () => {
  const { queries } = await sampleDatabase();
  expect(await keptSince(queries)).toBe(0);
  for (const [moment, kept] of [
    [5, 5],
    [7, 7],
    [6, 7],
  ] as const) {
    await setKeptSince(queries, moment);
    expect(await keptSince(queries)).toBe(kept);
  }
});
