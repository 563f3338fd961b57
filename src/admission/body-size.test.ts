import { expect, it } from 'vitest';
import { checkDeclaredSize, maxBodyBytes } from './body-size.ts';

const check = (length: string | undefined): void =>
  checkDeclaredSize({ method: 'POST', path: '/', header: (name) => (name === 'content-length' ? length : undefined) });

it('a body of 32 MiB may be declared, one byte more may not (docs/reference/api.md §4.1.3)', () => {
  expect(maxBodyBytes).toBe(32 * 1024 * 1024);
  expect(() => check('33554432')).not.toThrow();
  expect(() => check('33554433')).toThrow(expect.objectContaining({ code: 'body_too_large' }) as Error);
});

it.each([undefined, '', 'many', '0'])('a length of %j is left to be counted', (length) => {
  expect(() => check(length)).not.toThrow();
});
