import { expect, it } from 'vitest';
import { isReached, mutate } from './mutants.ts';

it('puts the replacement where the change is', () => {
  const location = { start: { line: 2, column: 7 }, end: { line: 2, column: 11 } };
  expect(mutate('one;\nif (a <= b) {\n}\n', { replacement: 'X', location })).toBe('one;\nif (a X) {\n}\n');
  expect(
    mutate('a\nb\n', { replacement: '', location: { start: { line: 1, column: 1 }, end: { line: 2, column: 2 } } }),
  ).toBe('\n');
});

it('asks the smallest range whether code has run', () => {
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 1 },
    { startOffset: 10, endOffset: 50, count: 0 },
    { startOffset: 20, endOffset: 30, count: 2 },
  ];
  expect([5, 10, 20, 29, 30, 49, 50, 100].filter((offset) => isReached(ranges, offset))).toEqual([5, 20, 29, 50]);
});
