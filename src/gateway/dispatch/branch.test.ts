import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../core/event.ts';
import { firstBranch, numberForCaller, splitBranch } from './branch.ts';
import { keepDelivered } from './continuation/delivered.ts';
import { endpointOf, plannedOfAll } from '../../../test/support/route-of.ts';

const text = (choice: number, word: string): AnswerEvent => ({ type: 'text-delta', choice, text: word, deltas: 1 });
const usage: AnswerEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1 } };

describe('a branch that breaks off', () => {
  const routes = plannedOfAll(['a', 'b', 'c']);
  const [a, b] = routes;

  function split(brokenOn = a) {
    const broken = firstBranch(2, routes);
    broken.tried.began(a, endpointOf('a'));
    const kept = keepDelivered();
    kept.take([text(0, 'one'), text(1, 'two'), { type: 'finish', choice: 1, reason: 'stop' }]);
    return { broken, choices: splitBranch(broken, { brokenOn, kept }) };
  }

  it('has a branch for each choice, with what was delivered of it', () => {
    const { choices } = split();
    expect(choices.map(({ choice, delivered }) => [choice, delivered.text, delivered.finished])).toEqual([
      [0, 'one', false],
      [1, 'two', true],
    ]);
    expect(choices.map(({ next }) => next.choices)).toEqual([[0], [1]]);
  });

  it('is continued on the route that broke off first, and then on the others in their order', () => {
    const [first] = split(b ?? a).choices;
    expect(first?.next.routes.map(({ route }) => route.backend.name)).toEqual(['b', 'a', 'c']);
  });

  it('passes on where it was tried, and each new branch goes its own way from there', () => {
    const { broken, choices } = split();
    choices[0]?.next.tried.began(a, endpointOf('a', 2));
    const names = (...numbers: readonly number[]) => new Set(numbers.map((number) => endpointOf('a', number).name));
    const triedBy = [broken, ...choices.map(({ next }) => next)].map(({ tried }) => tried.on(a));
    expect(triedBy).toEqual([names(1), names(1, 2), names(1)]);
  });
});

describe('the numbers of choices', () => {
  it.each<readonly [string, readonly number[], readonly AnswerEvent[], readonly AnswerEvent[]]>([
    ['stay as they are in the first branch', [0, 1], [text(0, 'a'), text(1, 'b')], [text(0, 'a'), text(1, 'b')]],
    ['are the caller’s in a branch of one choice', [2], [text(0, 'a'), usage], [text(2, 'a'), usage]],
    ['stay as they are where an engine invents a choice', [2], [text(5, 'a')], [text(5, 'a')]],
  ])('%s', (_, choices, events, expected) => {
    expect(numberForCaller(events, choices)).toEqual(expected);
  });

  it('cost no copy where they need no change', () => {
    const events = [text(0, 'a')];
    expect(numberForCaller(events, [0])).toBe(events);
  });
});
