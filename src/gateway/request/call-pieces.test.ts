import { expect, it } from 'vitest';
import { modelOf, routeOf, targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { planOf } from './call-pieces.ts';
import { prepareHere } from './prepare.ts';

const task = { kind: 'embedding', inputs: 10, encoding: 'float', dimensions: undefined, tokenIds: undefined } as const;
const input = Array.from({ length: 10 }, () => 'word '.repeat(100));
const body = new TextEncoder().encode(JSON.stringify({ model: 'demo/embed', input }));
const prepared = prepareHere(body, { surface: 'embeddings', countPrompt: uncounted });
const route = routeOf('a');
const plan = { model: modelOf([route]), routes: [{ route, target: targetOf('a') }] } as const;

it('endpoints are picked by the tokens of a piece, and not by what caches hold of the whole prompt', () => {
  const whole = { digests: [1, 2], ends: [500, 1000], tokens: 1_000 };
  const tokens = (count: number) =>
    planOf({ plan: { ...plan, poolPrompt: whole }, prepared, task }, { first: 0, count }).poolPrompt;
  const all = tokens(10)?.tokens ?? 0;
  expect(all).toBeGreaterThan(500);
  expect(tokens(2)).toEqual({ digests: [], ends: [], tokens: Math.ceil(all / 5) });
});

it('a plan without endpoints to pick from stays as it is', () => {
  expect(planOf({ plan, prepared, task }, { first: 0, count: 2 })).toBe(plan);
});
