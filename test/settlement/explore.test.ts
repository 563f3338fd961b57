import { expect, it } from 'vitest';
import { smallWorld } from './actions.ts';
import { type Action, firstState, isEnabled, type MoneyState, next, violations } from './model.ts';

/** States that differ only in times of less than a day count as one. */
const nameOf = (state: MoneyState): string =>
  JSON.stringify({
    ...state,
    elapsed: 0,
    now: Math.floor(state.now / 3_600_000),
    reports: state.reports.map(({ amount }) => amount),
  });

/** All states that a number of actions can reach, or the first trace that breaks an invariant. */
function explore(depth: number, step: typeof next = next) {
  const start = firstState(Date.UTC(2026, 10, 25, 12));
  let edge: readonly (readonly [MoneyState, readonly Action[]])[] = [[start, []]];
  const seen = new Set([nameOf(start)]);
  for (let taken = 0; taken < depth; taken += 1) {
    const reached: (readonly [MoneyState, readonly Action[]])[] = [];
    for (const [state, trace] of edge) {
      for (const action of smallWorld.filter((one) => isEnabled(state, one))) {
        const after = step(state, action);
        const name = nameOf(after);
        if (seen.has(name)) continue;
        seen.add(name);
        const way = [...trace, action];
        const broken = violations(after);
        if (broken.length > 0) return { states: seen.size, broken, way: way.map(({ kind }) => kind) };
        reached.push([after, way]);
      }
    }
    edge = reached;
  }
  return { states: seen.size, broken: [], way: [] };
}

it('no sequence of six actions breaks an invariant', () => {
  const { states, ...found } = explore(6);
  expect(found).toEqual({ broken: [], way: [] });
  expect(states).toBeGreaterThan(12_000);
});

it('a model whose journal keeps what was settled from it breaks one', () => {
  const forgetful: typeof next = (state, action) =>
    action.kind === 'database-up' ? { ...next(state, action), journal: state.journal } : next(state, action);
  expect(explore(5, forgetful)).toMatchObject({
    broken: ['a journal is empty while the database is up'],
    way: ['begin', 'end', 'database-up'],
  });
});
