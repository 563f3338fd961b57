import { describe, expect, it } from 'vitest';
import { printable, printableLine } from './printable.ts';

const escapes = [
  ['a colour', '\u001B[31mred', String.raw`\u001b[31mred`],
  ['a clipboard', '\u001B]52;c;aGk=\u0007', String.raw`\u001b]52;c;aGk=\u0007`],
  ['a sequence in one character', '\u009B2J', String.raw`\u009b2J`],
  ['a return to the beginning of the line', 'bad\rgood', String.raw`bad\u000dgood`],
  ['a deletion', 'bad\b\b\bgood\u007F', String.raw`bad\u0008\u0008\u0008good\u007f`],
  ['another direction', 'txt\u202Eexe', String.raw`txt\u202eexe`],
  ['half of a character', 'a\uD83D', String.raw`a\ud83d`],
] as const;

describe.each(escapes)('%s', (_, text, shown) => {
  it('is shown and not acted on', () => {
    expect(printable(text)).toBe(shown);
    expect(printableLine(text)).toBe(shown);
  });

  it('stays the same text in JSON', () => {
    expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
  });
});

it('line breaks and tabs stay in a text, and are shown in a line', () => {
  expect(printable('a\tb\nc\r\nd é 👍\n')).toBe('a\tb\nc\r\nd é 👍\n');
  expect(printableLine('a\tb\nc')).toBe(String.raw`a\u0009b\u000ac`);
});
