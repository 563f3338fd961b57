import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Failure } from './failure.ts';
import { readTags, tagOf, tagsIn, tagText } from './tags.ts';

const read = (header: string | undefined) =>
  readTags({ header: (name) => (name === 'x-weir-tags' ? header : undefined) });

it.each([
  [undefined, undefined],
  ['', undefined],
  [' , ', undefined],
  ['team=search', 'team=search'],
  ['team=search,app=crawler', 'app=crawler,team=search'],
  [' team=search , a-b=1,a=2,,d=x=y'.replace('x=y', 'x'), 'a-b=1,a=2,d=x,team=search'],
  ['job=2026/11/27:a@b.c-d_e', 'job=2026/11/27:a@b.c-d_e'],
])('of the header %j', (header, tags) => {
  expect(read(header)).toBe(tags);
});

it.each([
  ['five tags', 'a=1,b=2,c=3,d=4,e=5', 'it has 5 tags, and at most 4 are allowed'],
  ['the same name twice', 'a=1,a=2', 'the tag "a" is there twice'],
  ['no value', 'team', 'expected up to 4 tags'],
  ['an empty value', 'team=', 'expected up to 4 tags'],
  ['an empty name', '=search', 'expected up to 4 tags'],
  ['a second equals sign', 'a=b=c', 'expected up to 4 tags'],
  ['an uppercase name', 'Team=search', 'expected up to 4 tags'],
  ['a name that is too long', `${'a'.repeat(33)}=1`, 'expected up to 4 tags'],
  ['a value that is too long', `a=${'b'.repeat(65)}`, 'expected up to 4 tags'],
  ['a quote in a value', 'a=b"', 'expected up to 4 tags'],
  ['a letter that is not ASCII', 'a=bücher', 'expected up to 4 tags'],
])('a header with %s is refused, and named', (_, header, why) => {
  const refused = (): unknown => read(header);
  expect(refused).toThrow(Failure);
  expect(refused).toThrow(`x-weir-tags: ${why}`);
});

it('reads any tags that were read again as the same', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,31}$/);
  const value = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$/);
  const tags = fc.uniqueArray(fc.record({ name, value }), { minLength: 1, maxLength: 4, selector: (tag) => tag.name });
  fc.assert(
    fc.property(tags, (given) => {
      const text = read(given.map(tagText).join(', '));
      expect(new Set(tagsIn(text))).toEqual(new Set(given));
      expect(read(text)).toBe(text);
      for (const tag of given) expect(tagOf(tagText(tag))).toEqual(tag);
    }),
  );
});
