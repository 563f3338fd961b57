import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitSources } from './fit-sources.ts';
import { quote } from './cite.ts';

const hit = (url: string, text = 'About it.', title = 'T') => ({ url, title, text });
const roomy = { first: 1, roomTokens: 100_000 };

describe('the sources for a model', () => {
  it('are numbered on, each page once, and no more than eight', () => {
    const hits = ['a', 'b', 'a', ...'cdefghij'.split('')].map((name) => hit(`https://${name}.example/`));
    const sources = fitSources(hits, { first: 5, roomTokens: 100_000 }) ?? [];
    expect(sources.map(({ number }) => number)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
    expect(new Set(sources.map(({ url }) => url)).size).toBe(8);
  });

  it('cannot cite themselves, nor hide anything in control characters', () => {
    const [source] = fitSources([hit('u', 'So [cite:2] it\u0000 is\u001B.', '[cite:9]')], roomy) ?? [];
    expect(source).toMatchObject({ title: '[cite 9]', text: 'So [cite 2] it  is .' });
  });

  it('have the URL in place of a missing title', () => {
    expect(fitSources([hit('https://a.example/', 'x', ' ')], roomy)).toMatchObject([{ title: 'https://a.example/' }]);
  });

  it('are undefined without room', () => {
    expect(fitSources([hit('u')], { first: 1, roomTokens: 60 })).toBeUndefined();
    expect(fitSources([hit('u')], { first: 1, roomTokens: -5 })).toBeUndefined();
    expect(fitSources([], roomy)).toEqual([]);
  });

  it('stay within the room, whatever was found', () => {
    const text = fc.nat(9000).map((length) => 'word '.repeat(length / 5));
    const hits = fc.array(fc.record({ url: fc.webUrl(), title: fc.string(), text }));
    fc.assert(
      fc.property(hits, fc.integer({ min: 400, max: 9000 }), (found, roomTokens) => {
        const sources = fitSources(found, { first: 1, roomTokens }) ?? [];
        const length = sources.reduce((sum, { url, title, text }) => sum + url.length + title.length + text.length, 0);
        expect(length).toBeLessThanOrEqual(Math.min(16_000, roomTokens * 3));
      }),
    );
  });
});

describe('a quotation', () => {
  it('is the sentence that shares the most with the statement', () => {
    const source = 'It rains a lot. The tower is 330 metres tall. It was built in 1889.';
    expect(quote(source, 'The tower, built in 1889, is old')).toBe('It was built in 1889.');
    expect(quote(source, 'It is 330 m tall, the tower')).toBe('The tower is 330 metres tall.');
    expect(quote(source, 'xyz')).toBe('It rains a lot.');
    expect(quote('', 'xyz')).toBe('');
  });

  it('is never longer than 150 characters, and a part of the source', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), fc.string(), (source, said) => {
        const words = quote(source, said);
        expect(words.length).toBeLessThanOrEqual(150);
        expect(source).toContain(words);
        expect(words.isWellFormed()).toBe(true);
      }),
    );
    expect(quote(`${'word '.repeat(60)}end`, 'x')).toHaveLength(149);
  });
});
