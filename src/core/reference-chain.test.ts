import { describe, expect, it } from 'vitest';
import { hasShortChains } from './reference-chain.ts';

const at = (name: string | number): string => `#/$defs/d${name}`;
const chainOf = (length: number, last: object = { type: 'string' }) => ({
  $ref: at(1),
  $defs: Object.fromEntries(
    Array.from({ length }, (_, index) => [`d${index + 1}`, index + 1 < length ? { $ref: at(index + 2) } : last]),
  ),
});

describe('chains of references', () => {
  it.each([
    ['of the bound', chainOf(10), true],
    ['longer by one', chainOf(11), false],
    ['of 100,000', chainOf(100_000), false],
    ['in a circle', chainOf(10, { $ref: at(1) }), true],
    ['to itself', { $defs: { d1: { properties: { next: { $ref: at(1) } } } } }, true],
    ['that nothing refers to', { type: 'object', $defs: chainOf(11).$defs }, false],
    [
      'in the other place',
      {
        definitions: Object.fromEntries(
          Array.from({ length: 11 }, (_, index) => [`d${index}`, { $ref: `#/definitions/d${index + 1}` }]),
        ),
      },
      false,
    ],
    [
      'of many definitions beside each other',
      {
        anyOf: Array.from({ length: 50 }, (_, index) => ({ $ref: at(index) })),
        $defs: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`d${index}`, { type: 'string' }])),
      },
      true,
    ],
    ['that is joined behind a known one', { $defs: { a: { $ref: at(3) }, ...chainOf(11).$defs } }, false],
  ])('%s', (_, schema, isShort) => {
    expect(hasShortChains(schema, 10)).toBe(isShort);
  });

  it('are walked once, however many lead to the same definition', () => {
    const wide = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        { anyOf: [{ $ref: at(index + 1) }, { $ref: at(index + 1) }, { $ref: at(index + 2) }] },
      ]),
    );
    expect(hasShortChains({ $ref: at(0), $defs: wide }, 50)).toBe(true);
  });
});
