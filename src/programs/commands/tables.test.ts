import { expect, it } from 'vitest';
import { csvTable, textTable, wide } from './tables.ts';

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

it('fits a terminal: leaves out wide columns, and cuts the longest texts but those of the first column', () => {
  const id = 'k'.repeat(30);
  const titles = ['ID', 'NAME', 'STATUS', wide('MODELS'), '#COST'];
  const rows = [[id, 'n'.repeat(60), 'active', 'm'.repeat(20), '1.5']];
  const [head = '', row = ''] = textTable(titles, rows, 'fit').split('\n');
  expect([head.length <= 80, row.length]).toEqual([true, 80]);
  expect(row).toMatch(/^k{30} {2}n+… {2}active {3}1\.5$/);
  expect(textTable(titles, rows, 'wide')).toContain(`${'n'.repeat(60)}  active  ${'m'.repeat(20)}`);
  expect(textTable(titles, rows, 'wide').split('\n')[0]).toMatch(/STATUS {2}MODELS +COST$/);
});
