import { expect, test } from 'vitest';
import { chooseSteps } from './steps.ts';

const names = (...wanted: readonly string[]): readonly string[] => chooseSteps(wanted).map(({ name }) => name);

test('no name means every step, and what waits for a long build comes last', () => {
  const all = chooseSteps([]);
  expect(names()).toEqual(
    expect.arrayContaining([...names('check'), 'house', 'stores', 'envoy', 'engine', 'clients', 'kube']),
  );
  const waiting = all.map((step) => step.kind === 'suite' && step.needs !== undefined);
  expect(waiting).toEqual(waiting.toSorted((one, other) => Number(one) - Number(other)));
});

test('a check runs no other program', () => {
  expect(names('check')).toEqual(['format', 'lint', 'types', 'dead exports', 'generated files', 'unit']);
});

test('names pick their steps once, in the order of the table', () => {
  expect(names('envoy', 'unit', 'check')).toEqual([...names('check'), 'envoy']);
});

test('an unknown name is refused with the list', () => {
  expect(() => names('enovy')).toThrow(/"enovy".*envoy/);
});
