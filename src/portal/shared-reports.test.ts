import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { shareReports } from './shared-reports.ts';

const options = { measures: 'performance', top: undefined, page: undefined } as const;

function counted() {
  const clock = createFakeClock();
  const asked: string[] = [];
  let fails = false;
  const shared = shareReports(async (filter, dimensions) => {
    asked.push(`${filter.modelId ?? 'all'} ${dimensions.join()}`);
    if (fails) throw new Error('the database is down');
    return [];
  }, clock);
  return { clock, asked, shared, failing: (value: boolean) => (fails = value) };
}

it('reads a report once a second for equal questions, and separately for others', async () => {
  const { clock, asked, shared } = counted();
  const ask = () =>
    Promise.all([
      shared.usageReport({ modelId: 'a/a', since: 0 }, ['day'], options),
      shared.usageReport({ since: 0, modelId: 'a/a' }, ['day'], options),
      shared.usageReport({ modelId: 'b/b', since: 0 }, ['day'], options),
      shared.usageReport({ modelId: 'a/a', since: 0 }, ['hour'], options),
      shared.usageReport({ modelId: 'a/a', since: 0 }, ['day'], { ...options, top: 3 }),
      shared.usageReport({ modelId: 'a/a', since: 0, tagName: 'team' }, ['day'], options),
    ]);
  await ask();
  expect(asked).toEqual(['a/a day', 'b/b day', 'a/a hour', 'a/a day', 'a/a day']);
  clock.advance(999);
  await ask();
  expect(asked).toHaveLength(5);
  clock.advance(1);
  await ask();
  expect(asked).toHaveLength(10);
});

it('reads again after the cache was dropped, and after a failure', async () => {
  const { asked, shared, failing } = counted();
  const ask = () => shared.usageReport({}, [], options);
  await ask();
  shared.forget();
  await ask();
  expect(asked).toHaveLength(2);
  shared.forget();
  failing(true);
  await expect(ask()).rejects.toThrow('down');
  failing(false);
  await ask();
  expect(asked).toHaveLength(4);
});
