import { expect, it } from 'vitest';
import { shareWork } from './share-work.ts';

function held() {
  const runs: PromiseWithResolvers<string>[] = [];
  const work = (_key: string): Promise<string> => {
    const run = Promise.withResolvers<string>();
    runs.push(run);
    return run.promise;
  };
  return { runs, work };
}

it('runs once for all who ask meanwhile, and again for those who ask later; without it, once for each', async () => {
  const { runs, work } = held();
  const shared = shareWork(work);
  const asked = ['a', 'a', 'a', 'b'].map((key) => shared(key));
  expect(runs).toHaveLength(2);
  runs[0]?.resolve('first');
  runs[1]?.resolve('other');
  expect(await Promise.all(asked)).toEqual(['first', 'first', 'first', 'other']);
  const later = shared('a');
  runs[2]?.resolve('second');
  expect(await later).toBe('second');

  const alone = held();
  for (const key of ['a', 'a', 'a']) void alone.work(key);
  expect(alone.runs).toHaveLength(3);
});

it('shares a failure, and tries again afterwards', async () => {
  const { runs, work } = held();
  const shared = shareWork(work);
  const asked = [shared('a'), shared('a')].map((one) => one.catch((error: unknown) => String(error)));
  runs[0]?.reject(new Error('away'));
  expect(await Promise.all(asked)).toEqual(['Error: away', 'Error: away']);
  void shared('a');
  expect(runs).toHaveLength(2);
});
