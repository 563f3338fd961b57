import { expect, test } from 'vitest';
import { atOnce, chooseSteps } from './steps.ts';

const namesOf = (...words: readonly string[]): readonly string[] => chooseSteps(words).map(({ name }) => name);
const partsOf = (...words: readonly string[]): readonly unknown[] =>
  chooseSteps(words).flatMap((step) => (step.kind === 'vitest' ? [[step.name, step.part]] : []));
const checks = ['format', 'lint', 'plain English', 'types', 'types of the pages', 'dead exports', 'generated files'];

test('without a word come the checks and the short part of the tests, which needs no build', () => {
  expect(namesOf()).toEqual(['simulation', ...checks, 'unit', 'promises, with real parts']);
  expect(partsOf()).toEqual([
    ['unit', 'short'],
    ['promises, with real parts', 'short'],
  ]);
  const suites = chooseSteps([]).flatMap((step) => (step.kind === 'vitest' ? step.suites : []));
  expect(suites.filter(({ needs }) => needs !== undefined)).toEqual([]);
});

test('all has the same steps, then the rest, and what waits for a long build comes last', () => {
  expect(namesOf('all')).toEqual([...namesOf(), 'envoy', 'house, stores, portal, engine, clients, kube']);
  expect(partsOf('all').slice(0, 3)).toEqual([
    ['unit', 'every'],
    ['promises, with real parts', 'short'],
    ['envoy', 'rest'],
  ]);
  const waiting = chooseSteps(['all']).map(
    (step) => step.kind === 'vitest' && step.suites.some(({ needs }) => needs !== undefined),
  );
  expect(waiting).toEqual(waiting.toSorted((one, other) => Number(one) - Number(other)));
});

test('vllm runs when it is named, and only then', () => {
  expect(namesOf('all').join()).not.toContain('vllm');
  expect(namesOf('vllm')).toEqual(['vllm']);
});

test('a check runs no other program', () => {
  expect(namesOf('check')).toEqual([...checks, 'unit']);
});

test('commands run side by side, the longest one first, and each run of vitest by itself', () => {
  const groups = atOnce(chooseSteps(['all'])).map((group) => group.map(({ name }) => name));
  expect(groups).toEqual([
    ['simulation', ...checks],
    ...namesOf('all')
      .slice(8)
      .map((name) => [name]),
  ]);
});

test('names pick their steps once, in the order of the table', () => {
  expect(namesOf('envoy', 'unit', 'check')).toEqual([...namesOf('check'), 'envoy']);
});

test('a suite that is named runs alone and whole', () => {
  expect(partsOf('kube')).toEqual([['kube', 'every']]);
});

test('an unknown name is refused with the list', () => {
  expect(() => namesOf('enovy')).toThrow(/"enovy".*envoy/);
});
