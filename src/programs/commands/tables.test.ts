import { expect, it } from 'vitest';
import { csvTable, textTable } from './tables.ts';

it('lines columns up, numbers to the right, with no spaces at the ends of lines', () => {
  const table = textTable(
    ['NAME', '#COST', 'LAST'],
    [
      ['acme', '7.5', ''],
      ['x', '1000', 'y'],
    ],
  );
  expect(table.split('\n')).toEqual(['NAME  COST  LAST', 'acme   7.5', 'x     1000  y']);
});

it('separates with commas, quotes what holds one, and leaves out what is not known', () => {
  const rows = [
    ['plain', 1, null],
    ['a,b', true, 'say "x"\n'],
  ];
  expect(csvTable(['name', 'count', 'last'], rows)).toBe('name,count,last\r\nplain,1,\r\n"a,b",true,"say ""x""\n"');
});

it('shows the controls in a cell, and keeps its columns', () => {
  const table = textTable(
    ['NAME', '#COST'],
    [
      ['\u001B[2Ja\nb', '1'],
      ['x', '2'],
    ],
  );
  expect(table.split('\n')).toEqual([
    'NAME               COST',
    String.raw`\u001b[2Ja\u000ab     1`,
    'x                     2',
  ]);
});
