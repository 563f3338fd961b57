import { expect, it } from 'vitest';
import { type ErrorFigure, errorRateProblem, estimatedUsage } from './error-rates.ts';

const figure = (
  failed: number,
  total: number,
  lately: ErrorFigure['lately'] = { failed: 0, total: 0 },
): ErrorFigure => ({
  object: 'Model/a',
  model: 'org/a',
  windowMs: 900_000,
  failed,
  total,
  lately,
  inARow: 0,
  estimated: 0,
  lastFault: undefined,
});

it.each<readonly [string, ErrorFigure, { readonly begins: boolean; readonly goesOn: boolean }]>([
  ['nothing came', figure(0, 0), { begins: false, goesOn: false }],
  ['one of one failed', figure(1, 1), { begins: false, goesOn: false }],
  ['three of three failed', figure(3, 3), { begins: true, goesOn: true }],
  ['28 of 28 failed', figure(28, 28, { failed: 28, total: 28 }), { begins: true, goesOn: true }],
  ['four of five failed', figure(4, 5), { begins: false, goesOn: false }],
  ['five of six failed', figure(5, 6), { begins: true, goesOn: true }],
  ['a tenth failed', figure(10, 100, { failed: 1, total: 10 }), { begins: true, goesOn: true }],
  ['a little less than a tenth failed', figure(9, 100, { failed: 1, total: 10 }), { begins: false, goesOn: true }],
  ['less than a twentieth failed', figure(49, 1000, { failed: 1, total: 10 }), { begins: false, goesOn: false }],
  ['many failed, and none of the newest', figure(50, 100, { failed: 0, total: 40 }), { begins: false, goesOn: false }],
  ['many failed, and few of the newest', figure(50, 100, { failed: 3, total: 40 }), { begins: false, goesOn: true }],
  ['the last ones failed, and none came since', { ...figure(0, 0), inARow: 4 }, { begins: false, goesOn: true }],
])('%s', (_, some, { begins, goesOn }) => {
  expect(errorRateProblem(some, () => false) !== undefined).toBe(begins);
  expect(errorRateProblem(some, () => true) !== undefined).toBe(goesOn);
});

it('says how many of how many failed, and of what', () => {
  expect(errorRateProblem(figure(24, 30), () => false)).toMatchObject({
    ...{ object: 'Model/a', kind: 'model-failing', model: 'org/a' },
    problem: '24 of 30 requests failed in the last 15 minutes (80 %).',
  });
  expect(errorRateProblem({ ...figure(0, 0), inARow: 4 }, () => true)?.problem).toBe(
    'The last 4 requests failed, and there were none in the last 15 minutes.',
  );
  const lastFault = { cause: 'credential-refused', status: 401 } as const;
  const ofBackend = { ...figure(24, 30), object: 'Backend/b', model: undefined, lastFault };
  expect(errorRateProblem(ofBackend, () => false)).toMatchObject({
    ...{ object: 'Backend/b', kind: 'backend-failing' },
    problem: '24 of 30 attempts failed in the last 15 minutes (80 %). It refuses the credential (HTTP 401).',
    action: 'Correct the key in the Backend’s Secret: docs/operate/problems.md#causes',
  });
  expect(
    errorRateProblem({ ...ofBackend, lastFault: { ...lastFault, said: 'No such key' } }, () => false)?.problem,
  ).toBe(
    '24 of 30 attempts failed in the last 15 minutes (80 %). It refuses the credential (HTTP 401); it says “No such key”.',
  );
});

it.each([
  [{ model: undefined, estimated: 2 }, []],
  [{ model: undefined, estimated: 3 }, ['usage-estimated']],
  [{ model: 'org/a', estimated: 3 }, []],
])('estimates of tokens %o are the problems %j', (changes, kinds) => {
  expect(estimatedUsage({ ...figure(0, 9), ...changes }).map(({ kind }) => kind)).toEqual(kinds);
});
