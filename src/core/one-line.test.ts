import { expect, it } from 'vitest';
import { boundedStatus, cutText, isOneLine, quoted, toOneLine } from './one-line.ts';

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

it('a text is cut behind a whole character, with a mark', () => {
  expect(cutText('short', 5)).toBe('short');
  expect(cutText(`${'a'.repeat(4)}\u{1F600}`, 5)).toBe('aaaa…');
  expect(quoted('a "name"')).toBe('"a \\"name\\""');
  expect(quoted('x'.repeat(100_000))).toBe(`"${'x'.repeat(128)}…"`);
});

it('the text of a status is a short line, whatever is in it', () => {
  const sent: { readonly code: number; readonly details: string }[] = [];
  for (const details of ['fine', `a\nb\uD83D${'é'.repeat(100_000)}`])
    boundedStatus.sendStatus({ code: 3, details }, (status) => sent.push(status));
  expect(sent).toEqual([
    { code: 3, details: 'fine' },
    { code: 3, details: `ab${'é'.repeat(510)}…` },
  ]);
  // A half of a character cannot be written as a header at all.
  expect(() => encodeURI(sent[1]?.details ?? '')).not.toThrow();
  expect(() => encodeURI('\uD83D')).toThrow(URIError);
});
