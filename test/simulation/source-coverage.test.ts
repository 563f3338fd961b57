import { expect, it } from 'vitest';
import { unreachedLines, writeLines } from './source-coverage.ts';

const text = ['function f(x) {', '  if (x) {', '    // a reason', '    g();', '  }', '  h();', '}'].join('\n');
const inner = { startOffset: text.indexOf('{\n    //'), endOffset: text.indexOf('  h();') };

it('lists the lines that have code which never ran', () => {
  const all = { startOffset: 0, endOffset: text.length };
  expect(unreachedLines(text, [{ ...all, count: 1 }])).toEqual([]);
  expect(
    unreachedLines(text, [
      { ...all, count: 1 },
      { ...inner, count: 0 },
    ]),
  ).toEqual([2, 4]);
  expect(
    unreachedLines(text, [
      { ...all, count: 0 },
      { ...inner, count: 1 },
    ]),
  ).toEqual([1, 2, 6]);
});

it('writes neighbours as one range', () => {
  expect(writeLines([3, 4, 5, 9, 11, 12])).toBe('3-5, 9, 11-12');
});
