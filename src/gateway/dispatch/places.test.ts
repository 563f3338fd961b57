import { describe, expect, it } from 'vitest';
import type { Health } from '../core/health.ts';
import { type ContinueOn, beginInFirstPlace, openRoutes, placesLeft } from './places.ts';
import { createTried } from './tried.ts';
import { mergeNothing } from './continuation/merge.ts';
import { endpointOf, plannedOf, plannedOfAll } from '../../../test/support/route-of.ts';
import { steadyBegin, steadyHealth } from '../../../test/support/steady-health.ts';

const routes = plannedOfAll(['a', 'b', 'c']);
const [a] = routes;
const standby = plannedOf('s', { weight: 0 });
const bad = { kind: 'status', detail: '', status: 400, engineError: 'bad-request' } as const;

function triedOn(...backends: readonly string[]) {
  const tried = createTried();
  for (const planned of routes) {
    const { name } = planned.route.backend;
    if (backends.includes(name)) tried.began(planned, endpointOf(name));
  }
  return tried;
}

describe('the first place for an attempt', () => {
  const continueOnAll: ContinueOn = () => ({ ask: {}, merge: mergeNothing, answerBegun: true, prefixTokens: 0 });
  const fullAt =
    (full: string): Health['begin'] =>
    (route, options) =>
      route.backend.name === full ? undefined : steadyBegin(() => undefined, route, options);

  it.each<readonly [string, Partial<Parameters<typeof beginInFirstPlace>[1]>, string | undefined]>([
    ['is on the route that is planned first', {}, 'a'],
    ['is on the next route when every endpoint of the first was tried', { tried: triedOn('a') }, 'b'],
    ['is on the next route when the first has no room', { health: { begin: fullAt('a') } }, 'b'],
    ['is nowhere when every endpoint was tried', { tried: triedOn('a', 'b', 'c') }, undefined],
    ['is on a route that can continue the answer', { continueOn: continueOnAll }, 'a'],
    [
      'is not on a route that cannot continue the answer',
      { continueOn: (planned) => (planned === a ? undefined : continueOnAll(planned)) },
      'b',
    ],
    ['is nowhere when no route can continue the answer', { continueOn: () => undefined }, undefined],
  ])('%s', (_, given, expected) => {
    const place = beginInFirstPlace(routes, {
      ...{ tried: createTried(), health: steadyHealth(), continueOn: undefined, attempt: { stream: true } },
      ...given,
    });
    expect(place?.planned.route.backend.name).toBe(expected);
  });

  it('is asked for with what the endpoint is chosen by, and begins nowhere else', () => {
    const asked: unknown[] = [];
    const begin: Health['begin'] = (route, options) => {
      asked.push([route.backend.name, options]);
      return steadyBegin(() => undefined, route, options);
    };
    const attempt = { stream: true, prompt: 7, affinity: 'conversation' };
    beginInFirstPlace(routes, { tried: triedOn('b'), health: { begin }, continueOn: undefined, attempt });
    expect(asked).toEqual([['a', { ...attempt, avoid: new Set() }]]);
  });
});

describe('the places that are left', () => {
  it('are the routes with an endpoint that was not tried', () => {
    const left = placesLeft(routes, { tried: triedOn('b'), health: steadyHealth() });
    expect(left.map(({ route }) => route.backend.name)).toEqual(['a', 'c']);
  });

  it('are not on a route whose endpoints would all answer the same', () => {
    const tried = createTried();
    tried.failed(a, bad);
    const left = placesLeft(routes, { tried, health: steadyHealth({ endpointsLeft: () => 5 }) });
    expect(left.map(({ route }) => route.backend.name)).toEqual(['b', 'c']);
  });
});

describe('a standby', () => {
  const at = (planned: typeof standby) => ({ route: planned.route, endpoint: endpointOf('a') });

  it.each<readonly [string, Parameters<typeof openRoutes>[1], Partial<Health>, boolean]>([
    ['is open when no attempt runs', [], {}, true],
    ['is closed while an attempt runs on a healthy endpoint', [at(a)], {}, false],
    ['is open while the only attempt runs on an ejected endpoint', [at(a)], { isOut: () => true }, true],
    ['is open while the only attempt is a probe', [at(a)], { isProbed: () => true }, true],
    ['is open while the only attempt runs on a standby', [at(standby)], {}, true],
  ])('%s', (_, running, fields, isOpen) => {
    expect(openRoutes([a, standby], running, steadyHealth(fields))).toEqual(isOpen ? [a, standby] : [a]);
  });
});
