import { expect, it } from 'vitest';
import { isOneLine, toOneLine } from './one-line.ts';

it.each([
  ['a line break', ' Ada\nLovelace ', 'AdaLovelace'],
  ['a control of the terminal', '\u001B[31mAda', '[31mAda'],
  ['a change of direction', 'Ada\u202E', 'Ada'],
  ['half of a character', 'Ada\uD83D', 'Ada'],
  ['a character that the bound cuts in two', `${'a'.repeat(11)}\u{1F600}`, 'a'.repeat(11)],
])('a name with %s is one line', (_, name, line) => {
  expect(toOneLine(name, 12)).toBe(line);
  expect(isOneLine(line)).toBe(true);
});

it.each(['Ada\nLovelace', '\u001B[31mAda', 'Ada\u202E', 'Ada\uD83D'])('%j is not one line', (name) => {
  expect(isOneLine(name)).toBe(false);
});
