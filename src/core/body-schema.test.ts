import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listOf, recordOf } from './body-schema.ts';

const person = z.object({ name: z.string().min(1), age: z.int().nullish() });

describe('a list', () => {
  it('is read as zod reads one', () => {
    const values = [{ name: 'ann', age: 5, more: 1 }, { name: 'bob' }];
    expect(listOf(person).parse(values)).toEqual(z.array(person).parse(values));
  });

  it.each([
    [
      [{ name: 'ann' }, { name: 5 }, { name: '' }],
      [1, 'name'],
    ],
    [[5], [0]],
    [{}, []],
  ])('of %j has one issue, the one that zod names first', (values, path) => {
    const { error } = listOf(person).safeParse(values);
    const [first] = z.array(person).safeParse(values).error?.issues ?? [];
    expect(error?.issues).toEqual([first]);
    expect(error?.issues[0]?.path).toEqual(path);
  });

  it('that is too short or too long is not read at all', () => {
    const list = listOf(person, { min: 1, max: 2 });
    expect(list.safeParse([]).error?.issues).toMatchObject([{ code: 'too_small', path: [] }]);
    expect(list.safeParse([1, 2, 3]).error?.issues).toMatchObject([{ code: 'too_big', path: [] }]);
  });

  it('is not read beyond its first issue', () => {
    let looked = 0;
    const counted = z.unknown().refine(() => (looked += 1) < 3);
    expect(listOf(counted).safeParse(Array.from({ length: 1000 })).success).toBe(false);
    expect(looked).toBe(3);
  });

  it('inside of another value names the whole path', () => {
    const schema = z.object({ people: z.union([z.string(), listOf(person)]) });
    const { error } = schema.safeParse({ people: [{ name: 'ann', age: 1.5 }] });
    expect(error?.issues).toMatchObject([{ code: 'invalid_union', path: ['people'] }]);
    expect(error?.issues[0]).toHaveProperty(['errors', 1, 0, 'path'], [0, 'age']);
  });
});

describe('a record', () => {
  it('is read as zod reads one, and up to its first issue', () => {
    const values = { a: 1, b: 2 };
    expect(recordOf(z.int()).parse(values)).toEqual(values);
    const { error } = recordOf(z.int()).safeParse({ a: 1, b: 'x', c: 'y' });
    expect(error?.issues).toMatchObject([{ code: 'invalid_type', path: ['b'] }]);
  });

  it('of two hundred thousand invalid fields has one issue', () => {
    const values = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, 'x']));
    expect(recordOf(z.int()).safeParse(values).error?.issues).toHaveLength(1);
  });
});
