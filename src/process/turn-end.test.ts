import { expect, it } from 'vitest';
import { createTurnEnd } from './turn-end.ts';

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
