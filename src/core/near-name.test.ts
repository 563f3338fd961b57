import { expect, it } from 'vitest';
import { didYouMean, nearName } from './near-name.ts';

const known = ['WEIR_OPS_PORT', 'WEIR_ADMIN_PORT', 'WEIR_LOG_LEVEL', 'WEIR_DATA'];

it.each([
  ['WEIR_OPSPORT', 'WEIR_OPS_PORT'],
  ['WEIR_LOGLEVEL', 'WEIR_LOG_LEVEL'],
  ['weir_ops_port', 'WEIR_OPS_PORT'],
  ['WEIR_ADMN_PRT', 'WEIR_ADMIN_PORT'],
])('takes %s for %s', (typed, meant) => {
  expect(nearName(typed, known)).toBe(meant);
});

it.each(['WEIR_SOMETHING_ELSE', 'W', ''])('finds nothing near %j', (typed) => {
  expect(nearName(typed, known)).toBeUndefined();
  expect(didYouMean(typed, known)).toBe('');
});

it('asks whether the near name was meant', () => {
  expect(didYouMean('WEIR_DATE', known)).toBe(' (Did you mean WEIR_DATA?)');
  expect(didYouMean('prot', ['port', 'data'])).toBe(' (Did you mean port?)');
});
