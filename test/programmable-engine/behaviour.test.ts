import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { parseBehaviour } from './behaviour.ts';
import { directiveReference } from './directive-reference.ts';
import { takeDirectives } from './directive-text.ts';

describe('directives', () => {
  test.each([
    [{ words: 'many' }, 'words must be an integer from 0 to 5000000'],
    [{ wrods: 3 }, 'wrods is not a directive'],
    [{ fault: 'explode' }, 'fault must be one of cut, reset'],
    [{ at: { events: 1, bytes: 1 } }, 'at must be before-headers, after-headers'],
    [{ toolQuirk: ['index-missing', 'nonsense'] }, 'toolQuirk must be one of'],
    [{ gzip: 'yes', status: 99 }, 'gzip must be true or false; status must be an integer from 200 to 599'],
    [[], 'directives must be a JSON object'],
  ])('refuses %j and says why', (given, message) => {
    expect(() => parseBehaviour(given)).toThrow(message);
  });

  test('shorthands stand for a fault and its place', () => {
    expect(parseBehaviour({ cutAfterEvents: 3 })).toEqual({ fault: 'cut', at: { events: 3 } });
    expect(parseBehaviour({ resetAtByte: 80 })).toEqual({ fault: 'reset', at: { bytes: 80 } });
  });

  test('one quirk stands for a list of one', () => {
    expect(parseBehaviour({ toolQuirk: 'id-late' })).toEqual({ toolQuirk: ['id-late'] });
  });

  test('the reference table of the README is the one the code gives', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const table = /<!-- directives -->\n(.*)\n<!-- end -->/su.exec(readme)?.[1];
    expect(table).toBe(directiveReference());
  });
});

describe('directives in a message', () => {
  test.each([
    ['Hello [[words=200]]', 'Hello', { words: 200 }],
    ['[[unicode]] Hello [[refusal=field]]', 'Hello', { unicode: true, refusal: 'field' }],
    ['Hello [[demo {"cutAfterEvents":3}]]', 'Hello', { cutAfterEvents: 3 }],
    [
      'Hello [[demo {"toolQuirk":["id-late"],"errorJson":[["]]"]]}]] again',
      'Hello  again',
      { toolQuirk: ['id-late'], errorJson: [[']]']] },
    ],
    ['See [[wiki]] and [[words', 'See [[wiki]] and [[words', undefined],
  ])('are taken out of %j', (given, text, asked) => {
    expect(takeDirectives(given)).toEqual({ text, asked });
  });

  test('that cannot be read are an error', () => {
    expect(() => takeDirectives('[[demo {words: 3}]]')).toThrow('must hold a JSON object');
  });
});
