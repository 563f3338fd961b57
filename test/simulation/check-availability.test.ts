import { expect, it } from 'vitest';
import { type AskedRequest, couldBeServed } from './check-availability.ts';

const broken: AskedRequest = { at: 20_000, directive: { on: ['a1'], fault: 'truncate', at: { events: 3 }, times: 1 } };
const full = (at: number, engine: string): AskedRequest => ({ at, directive: { on: [engine], status: 429, times: 1 } });

it.each([
  ['can be served by an engine of which nothing is wrong', [], true],
  ['can be served while one of the others has said that it is full', [full(19_900, 'a2')], true],
  ['cannot while all others have said so', [full(19_900, 'a2'), full(19_950, 'b1')], false],
  ['cannot when the last one says so meanwhile', [full(19_900, 'a2'), full(20_050, 'b1')], false],
  ['can when one of them said so long before', [full(9_900, 'a2'), full(19_950, 'b1')], true],
  ['can when one of them says so afterwards', [full(19_900, 'a2'), full(20_101, 'b1')], true],
  [
    'can when one of them only fails',
    [full(19_900, 'a2'), { ...full(1, 'b1'), at: 19_950, directive: { on: ['b1'], status: 500 } }],
    true,
  ],
] as const)('a request that is refused at once %s', (_, requests, expected) => {
  expect(couldBeServed(broken, { requests, until: 20_100, isRefused: true })).toBe(expected);
});

it('a request that breaks off can be served while all others have said that they are full', () => {
  const requests = [full(19_900, 'a2'), full(19_950, 'b1')];
  expect(couldBeServed(broken, { requests, until: 20_100, isRefused: false })).toBe(true);
  const lost: AskedRequest = { at: 20_000, directive: { on: ['a1', 'a2', 'b1'], status: 500 } };
  expect(couldBeServed(lost, { requests: [], until: 20_100, isRefused: false })).toBe(false);
});
