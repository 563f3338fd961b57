import { expect, it } from 'vitest';
import { csvTable } from './csv-table.ts';

it('separates with commas, quotes what holds one, and leaves out what is not known', () => {
  const rows = [
    ['plain', 1, null],
    ['a,b', true, 'say "x"\n'],
  ];
  expect(csvTable(['name', 'count', 'last'], rows)).toBe('name,count,last\r\nplain,1,\r\n"a,b",true,"say ""x""\n"');
});
