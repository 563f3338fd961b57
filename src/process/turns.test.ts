// @suite apart
import { expect, it } from 'vitest';
import { createSlices, createTurnEnd, createTurnShare } from './turns.ts';

/** Turns that a test makes, and a clock that stands but for the work. */
function handTurns() {
  let now = 0;
  let next: (() => void)[] = [];
  return {
    sources: { elapsed: () => now, nextTurn: (run: () => void) => void next.push(run) },
    work: (name: string, takesMs: number, done: string[]) => () => {
      now += takesMs;
      done.push(name);
      return name;
    },
    /** Whether a function waits for the next turn. */
    asked: () => next.length > 0,
    turn: () => {
      const runs = next;
      next = [];
      for (const run of runs) run();
    },
  };
}

it('does work at once while the turn has something left, and the rest in later turns, in order', async () => {
  const { sources, work, turn } = handTurns();
  const share = createTurnShare({ budgetMs: 10, sources });
  const done: string[] = [];
  expect(share(work('a', 6, done))).toBe('a');
  expect(share(work('b', 6, done))).toBe('b');
  const later = ['c', 'd', 'e'].map((name) => share(work(name, 6, done)));
  expect(done).toEqual(['a', 'b']);
  turn();
  expect(done).toEqual(['a', 'b', 'c', 'd']);
  turn();
  expect(done).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(await Promise.all(later.map(async (each) => each))).toEqual(['c', 'd', 'e']);
  turn();
  expect(share(work('f', 1, done))).toBe('f');
});

it('hands on what the work throws, at once and later, and goes on', async () => {
  const { sources, work, turn } = handTurns();
  const share = createTurnShare({ budgetMs: 1, sources });
  const fail = (): never => {
    throw new Error('no');
  };
  expect(() => share(fail)).toThrow('no');
  const done: string[] = [];
  void share(work('a', 5, done));
  const failed = Promise.allSettled([share(fail)]);
  const next = share(work('b', 1, done));
  turn();
  expect(await failed).toMatchObject([{ status: 'rejected', reason: { message: 'no' } }]);
  expect(await next).toBe('b');
});

it('does what a turn gathered at once, in order, and what is asked for meanwhile in the next one', () => {
  const turns: (() => void)[] = [];
  const done: string[] = [];
  const atTurnEnd = createTurnEnd((run) => turns.push(run));
  atTurnEnd(() => {
    done.push('a');
    atTurnEnd(() => done.push('c'));
  });
  atTurnEnd(() => done.push('b'));
  expect([done, turns.length]).toEqual([[], 1]);
  turns.shift()?.();
  expect([done, turns.length]).toEqual([['a', 'b'], 1]);
  turns.shift()?.();
  expect([done, turns.length]).toEqual([['a', 'b', 'c'], 0]);
});

it('maps long lists in slices, which lists that follow each other share', async () => {
  const { sources, work, turn, asked } = handTurns();
  const inSlices = createSlices(sources);
  const done: string[] = [];
  const all = (async () => [
    ...(await inSlices(['a', 'b', 'c'], (name) => work(name, 0.75, done)())),
    ...(await inSlices(['d', 'e'], (name) => work(name, 0.75, done)())),
  ])();
  await expect.poll(asked).toBe(true);
  expect(done).toEqual(['a', 'b', 'c']);
  turn();
  expect(await all).toEqual(['a', 'b', 'c', 'd', 'e']);
});

it('waits for each item of a list, and begins a new slice for a list that comes after other work', async () => {
  const { sources, work, turn, asked } = handTurns();
  const inSlices = createSlices(sources);
  const done: string[] = [];
  const late = async (name: string): Promise<string> => {
    await Promise.resolve();
    return work(name, 1.5, done)();
  };
  expect(await inSlices(['a'], late)).toEqual(['a']);
  work('other work', 5, done)();
  const all = inSlices(['b', 'c', 'd'], late);
  await expect.poll(asked).toBe(true);
  expect(done).toEqual(['a', 'other work', 'b', 'c']);
  turn();
  expect(await all).toEqual(['b', 'c', 'd']);
});

it('rejects when an item fails, and maps no other', async () => {
  const { sources, work } = handTurns();
  const done: string[] = [];
  const mapping = createSlices(sources)(['a', 'b', 'c'], async (name) => {
    if (name === 'b') throw new Error('no');
    return work(name, 1, done)();
  });
  await expect(mapping).rejects.toThrow('no');
  expect(done).toEqual(['a']);
});
