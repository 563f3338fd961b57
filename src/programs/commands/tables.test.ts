import { expect, it } from 'vitest';
import { csvTable, textTable, usdText, wide } from './tables.ts';

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

it.each([
  [0n, '0', '0'],
  [1n, '<0.0001', '0.000000000001'],
  [100_000_000n, '0.0001', '0.0001'],
  [1_234_567_890_123_456n, '1234.5678', '1234.567890123456'],
])('shows %s picodollars in a table that fits, and exactly in a wide one', (amount, fit, exact) => {
  expect([usdText(amount, 'fit'), usdText(amount, 'wide')]).toEqual([fit, exact]);
});
