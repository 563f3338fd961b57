import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { shareWork } from './share-work.ts';

function held() {
  const runs: PromiseWithResolvers<string>[] = [];
  const work = (_key: string): Promise<string> => {
    const run = Promise.withResolvers<string>();
    runs.push(run);
    return run.promise;
  };
  return { runs, work, clock: createFakeClock() };
}

it('runs once for all who ask meanwhile, key after key, and again for those who ask later; without it, once for each', async () => {
  const { runs, work, clock } = held();
  const shared = shareWork(work, clock);
  const asked = ['a', 'a', 'a', 'b'].map((key) => shared(key));
  await nextTurn();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve('first');
  await nextTurn();
  runs[1]?.resolve('other');
  expect(await Promise.all(asked)).toEqual(['first', 'first', 'first', 'other']);
  const later = shared('a');
  await nextTurn();
  runs[2]?.resolve('second');
  expect(await later).toBe('second');

  const alone = held();
  for (const key of ['a', 'a', 'a']) void alone.work(key);
  expect(alone.runs).toHaveLength(3);
});

it('shares a failure, and tries again afterwards', async () => {
  const { runs, work, clock } = held();
  const shared = shareWork(work, clock);
  const asked = [shared('a'), shared('a')].map((one) => one.catch((error: unknown) => String(error)));
  await nextTurn();
  runs[0]?.reject(new Error('away'));
  expect(await Promise.all(asked)).toEqual(['Error: away', 'Error: away']);
  void shared('a');
  await nextTurn();
  expect(runs).toHaveLength(2);
});

/** Work of 20 ms, asked for by 30 callers who each ask again at once, for ten seconds. Returns the time that the work took. */
async function askedWithoutEnd(
  share: (work: () => Promise<void>, clock: ReturnType<typeof createFakeClock>) => (key: string) => Promise<void>,
): Promise<{ readonly workedMs: number; readonly answers: number }> {
  const clock = createFakeClock();
  let working = 0;
  let workedMs = 0;
  let answers = 0;
  const ask = share(async () => {
    working += 1;
    await new Promise<void>((resolve) => clock.after(20, resolve));
    working -= 1;
  }, clock);
  const caller = async (key: string): Promise<void> => {
    while (clock.elapsed() < 10_000) {
      await ask(key);
      answers += 1;
    }
  };
  const callers = Array.from({ length: 30 }, (_, index) => caller(index % 2 === 0 ? 'text' : 'other text'));
  while (clock.elapsed() < 20_000) {
    await nextTurn();
    workedMs += working * 5;
    clock.advance(5);
  }
  await Promise.all(callers);
  return { workedMs, answers };
}

it('takes at most a tenth of the time of callers who ask again at once; without it, more than all of it', async () => {
  const shared = await askedWithoutEnd(shareWork);
  expect(shared.workedMs).toBeGreaterThan(900);
  expect(shared.workedMs).toBeLessThan(1_100);
  expect(shared.answers).toBeGreaterThan(15 * 45);
  const alone = await askedWithoutEnd((work) => work);
  expect(alone.workedMs).toBeGreaterThan(10_000 * 25);
});

it('pauses for a second at most, and gives nobody a result from before the question', async () => {
  const { runs, work, clock } = held();
  const shared = shareWork(work, clock);
  const first = shared('a');
  await nextTurn();
  clock.advance(800);
  runs[0]?.resolve('first');
  expect(await first).toBe('first');
  const second = shared('a');
  clock.advance(999);
  await nextTurn();
  expect(runs).toHaveLength(1);
  clock.advance(1);
  await nextTurn();
  runs[1]?.resolve('second');
  expect(await second).toBe('second');
});
