import { describe, expect, it } from 'vitest';
import { isSite, pageFilter } from './web-search.ts';

describe('a site', () => {
  it.each([
    'example.com',
    'docs.example.com',
    'example.com/blog',
    'example.com/a/b',
    'example.com/*',
    'xn--bcher-kva.example',
  ])('may be named %s', (name) => expect(isSite(name)).toBe(true));

  it.each([
    '',
    'example',
    'https://example.com',
    '*.example.com',
    'example.com:8080',
    'ex ample.com',
    'example.com*',
    '.example.com',
    'a..com',
    'bücher.example',
  ])('may not be named %j', (name) => expect(isSite(name)).toBe(false));
});

describe('what may be found', () => {
  it.each<readonly [page: string, site: string, isOfIt: boolean]>([
    ['https://example.com/', 'example.com', true],
    ['http://www.example.com/x?y', 'example.com', true],
    ['https://EXAMPLE.com/', 'example.COM', true],
    ['https://notexample.com/', 'example.com', false],
    ['https://example.com.evil.test/', 'example.com', false],
    ['https://evil.test/example.com', 'example.com', false],
    ['https://example.com@evil.test/', 'example.com', false],
    ['https://example.com/blog', 'example.com/blog', true],
    ['https://example.com/blog/1', 'example.com/blog', true],
    ['https://example.com/blogger', 'example.com/blog', false],
    ['https://example.com/', 'example.com/blog', false],
    ['https://example.com/blog/1', 'example.com/blog/*', true],
    ['https://example.com/x', 'example.com/*', true],
  ])('%s is of %s: %s', (page, site, isOfIt) => {
    expect(pageFilter({ kind: 'allowed', names: [site] })(page)).toBe(isOfIt);
    expect(pageFilter({ kind: 'blocked', names: [site] })(page)).toBe(!isOfIt);
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'not a url', ''])('is never %j', (page) => {
    expect(pageFilter(undefined)(page)).toBe(false);
    expect(pageFilter({ kind: 'blocked', names: ['a.example'] })(page)).toBe(false);
  });

  it('is everything else where nothing was said', () => {
    expect(pageFilter(undefined)('https://anything.example/')).toBe(true);
  });
});
