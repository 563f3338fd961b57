import { expect, it } from 'vitest';
import { placeTriedTwice, type SeenAttempt } from './check-attempts.ts';

/** `reason endpoint end` of each attempt. With `later`, it ended after the next one had begun. */
const attempts = (text: string): readonly SeenAttempt[] =>
  text.split(', ').map((each, index) => {
    const [reason, endpoint = '', how, isLater] = each.split(' ');
    const ended = { how, begun: index + (isLater === undefined ? 1 : 2) };
    return { start: { routeId: 'tiny', endpoint, reason }, ended } as SeenAttempt;
  });

it.each([
  ['each place once', 1, 'first a failed, failover b complete', undefined],
  ['the failed place again', 1, 'first a failed, failover a complete', 'tiny a'],
  ['the place that runs again', 1, 'first a beaten later, hedge a complete', 'tiny a'],
  [
    'the place of the loser of a hedge, to continue',
    1,
    'first a beaten later, hedge b failed, resume a complete',
    undefined,
  ],
  ['the place that broke off, to continue', 1, 'first a failed, resume a complete', 'tiny a'],
  ['another place for each choice', 2, 'first a failed, resume b complete, resume b complete', undefined],
  ['another place once too often', 2, 'first a failed, resume b failed, resume b failed, resume b complete', 'tiny b'],
  ['the broken place for the second choice', 2, 'first a failed, resume b complete, resume a complete', 'tiny a'],
  ['the same place in two calls of the model', 1, 'first a complete, first a complete', undefined],
])('finds that a request tried %s', (_, choices, text, place) => {
  expect(placeTriedTwice(attempts(text), choices)).toBe(place);
});
