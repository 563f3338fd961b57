import { expect, it } from 'vitest';
import { type AskedRequest, couldBeServed } from './check-availability.ts';

const broken: AskedRequest = {
  ...{ startedAt: 20_000, endedAt: 20_100 },
  directive: { on: ['a1'], fault: 'truncate', at: { events: 3 }, times: 1 },
};
const full = (startedAt: number, engine: string, endedAt = startedAt + 10): AskedRequest => ({
  ...{ startedAt, endedAt },
  directive: { on: [engine], status: 429, times: 1 },
});

it.each([
  ['can be served by an engine of which nothing is wrong', [], true],
  ['can be served while one of the others has said that it is full', [full(19_900, 'a2')], true],
  ['cannot while all others have said so', [full(19_900, 'a2'), full(19_950, 'b1')], false],
  ['cannot when the last one says so meanwhile', [full(19_900, 'a2'), full(20_050, 'b1')], false],
  ['can when one of them said so long before', [full(9_900, 'a2'), full(19_950, 'b1')], true],
  [
    'cannot when one said so late in a request that began long before',
    [full(1, 'a2', 19_900), full(19_950, 'b1')],
    false,
  ],
  [
    'cannot when one may say so in a request that is still open',
    [{ ...full(1, 'a2'), endedAt: undefined }, full(19_950, 'b1')],
    false,
  ],
  [
    'can when one of them only fails',
    [full(19_900, 'a2'), { ...full(19_950, 'b1'), directive: { on: ['b1'], status: 500 } }],
    true,
  ],
] as const)('a request that is refused at once %s', (_, requests, expected) => {
  expect(couldBeServed(broken, { requests, isRefused: true })).toBe(expected);
});

it('a request that breaks off can be served while all others have said that they are full', () => {
  const requests = [full(19_900, 'a2'), full(19_950, 'b1')];
  expect(couldBeServed(broken, { requests, isRefused: false })).toBe(true);
  const lost: AskedRequest = { ...broken, directive: { on: ['a1', 'a2', 'b1'], status: 500 } };
  expect(couldBeServed(lost, { requests: [], isRefused: false })).toBe(false);
});
