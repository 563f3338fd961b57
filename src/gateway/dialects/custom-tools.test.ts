import { describe, expect, it } from 'vitest';
import { customInputOf, wholeArguments } from './custom-tools.ts';

describe('the arguments of an earlier call', () => {
  it.each([
    ['{"id":1234567890123456789, "ratio":1.0}', '{"id":1234567890123456789, "ratio":1.0}'],
    ['{"city":"Pa', '{"city":"Pa"}'],
    ['{"city":"Paris","days":1', '{"city":"Paris"}'],
    ['', '{}'],
    [' \n', '{}'],
    ['null', '{}'],
    ['Paris', '{"input":"Paris"}'],
    ['{"city": Paris}', '{"input":"{\\"city\\": Paris}"}'],
    ['["Paris"]', '{"input":"[\\"Paris\\"]"}'],
    ['"Paris"', '{"input":"\\"Paris\\""}'],
    ['7', '{"input":"7"}'],
  ])('%s reach the engine as %s', (text, expected) => {
    expect(wholeArguments(text)).toBe(expected);
    expect(JSON.parse(wholeArguments(text))).toBeTypeOf('object');
  });
});

it.each([
  ['{"input":"ls"}', 'ls'],
  ['{"input":"ls -', 'ls -'],
  ['ls', 'ls'],
  ['{"other":1}', '{"other":1}'],
])('a custom tool that was called with %s gets %s', (text, expected) => {
  expect(customInputOf(text)).toBe(expected);
});
