import { expect, it } from 'vitest';
import { textTable } from './text-table.ts';

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
