import { expect, test } from 'vitest';
import { chooseSteps } from './steps.ts';

const namesOf = (...wanted: readonly string[]): readonly string[] =>
  chooseSteps(wanted).flatMap((step) => (step.kind === 'command' ? [step.name] : step.suites.map(({ name }) => name)));

test('no name means every step, and what waits for a long build comes last', () => {
  const all = chooseSteps([]);
  expect(namesOf().toSorted()).toEqual(
    [...namesOf('check'), 'house', 'stores', 'portal', 'envoy', 'engine', 'clients', 'kube'].toSorted(),
  );
  const waiting = all.map((step) => step.kind === 'vitest' && step.suites.some(({ needs }) => needs !== undefined));
  expect(waiting).toEqual(waiting.toSorted((one, other) => Number(one) - Number(other)));
});

test('vllm runs when it is named, and only then', () => {
  expect(namesOf()).not.toContain('vllm');
  expect(namesOf('vllm')).toEqual(['vllm']);
});

test('a check runs no other program', () => {
  expect(namesOf('check')).toEqual([
    ...['format', 'lint', 'types', 'types of the pages', 'dead exports', 'generated files', 'unit'],
  ]);
});

test('names pick their steps once, in the order of the table', () => {
  expect(namesOf('envoy', 'unit', 'check')).toEqual([...namesOf('check'), 'envoy']);
});

test('a suite runs alone when it alone is named', () => {
  expect(chooseSteps(['kube'])).toEqual([{ kind: 'vitest', suites: [expect.objectContaining({ name: 'kube' })] }]);
});

test('an unknown name is refused with the list', () => {
  expect(() => namesOf('enovy')).toThrow(/"enovy".*envoy/);
});
