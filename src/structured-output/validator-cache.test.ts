import { expect, it } from 'vitest';
import { createValidatorCache } from './validator-cache.ts';

function begin(options: { readonly maxCount?: number; readonly maxCharacters?: number } = {}) {
  const compiled: string[] = [];
  const compile = (schema: string) => {
    compiled.push(schema);
    return schema.startsWith('bad') ? undefined : () => schema;
  };
  return { compiled, ...createValidatorCache({ compile, maxCount: 3, maxCharacters: 1_000, ...options }) };
}

it('compiles a schema once, one that cannot be compiled too', () => {
  const cache = begin();
  for (const schema of ['a', 'bad', 'a', 'bad']) cache.get(schema);
  expect(cache.compiled).toEqual(['a', 'bad']);
  expect([cache.get('a')?.(0), cache.get('bad')]).toEqual(['a', undefined]);
});

it('forgets the one not used for longest when there are too many', () => {
  const cache = begin();
  for (const schema of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) cache.get(schema);
  expect(cache.compiled).toEqual(['a', 'b', 'c', 'd', 'b']);
  expect(cache.size()).toEqual({ count: 3, characters: 3 });
});

it('forgets when they are too large together, and keeps none that is too large alone', () => {
  const cache = begin({ maxCharacters: 10 });
  for (const schema of ['aaaa', 'bbbb', 'cccc']) cache.get(schema);
  expect(cache.size()).toEqual({ count: 2, characters: 8 });
  expect(cache.get('x'.repeat(11))?.(0)).toBe('x'.repeat(11));
  expect(cache.size()).toEqual({ count: 0, characters: 0 });
});
