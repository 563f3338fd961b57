import { expect, it } from 'vitest';
import { memberAddress } from './membership.ts';

it.each([
  [' Ada@Example.com ', 'ada@example.com'],
  ['a+b@sub.example.com', 'a+b@sub.example.com'],
  ['ada', undefined],
  ['ada@localhost', undefined],
  ['ada@example.com, bob@example.com', undefined],
  ['a@b@example.com', undefined],
  // The sign of Kelvin, whose lowercase is "k".
  ['\u212Aim@example.com', undefined],
  [`${'a'.repeat(250)}@example.com`, undefined],
])('the address %j is compared as %j', (given, compared) => {
  expect(memberAddress(given)).toBe(compared);
});
