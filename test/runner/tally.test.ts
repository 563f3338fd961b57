import { describe, expect, test } from 'vitest';
import {
  add,
  failedFiles,
  lastLine,
  nothing,
  oneFailed,
  onePassed,
  tallyVitest,
  troubles,
  withSecondTries,
} from './tally.ts';

const counts = (numPassedTests: number, numFailedTests: number, numTotalTests = numPassedTests + numFailedTests) => ({
  ...{ numPassedTests, numFailedTests, numTotalTests },
  testResults: [],
});

describe('a vitest report', () => {
  test.each([
    ['is counted', counts(3, 1), 1, [3, 1, 0]],
    ['counts pending, todo and skipped as skipped', counts(1, 0, 4), 0, [1, 0, 3]],
    ['counts a file that did not load as one failure', counts(0, 0), 1, [0, 1, 0]],
    ['counts a bad end that no test shows as one failure', counts(2, 0), 1, [2, 1, 0]],
    ['counts a death by signal as one failure', counts(1, 0), 'SIGKILL', [1, 1, 0]],
    ['does not count a failure twice', counts(0, 1), 1, [0, 1, 0]],
  ] as const)('%s', (_name, json, exitCode, [passed, failed, skipped]) => {
    expect(tallyVitest(json, exitCode)).toEqual({ passed, failed, skipped });
  });

  test.each([[undefined], [{}], [{ ...counts(1, 0), testResults: [{}] }]])(
    'that is missing or unreadable is one failure: %j',
    (json) => {
      expect(tallyVitest(json, 0)).toEqual(oneFailed);
    },
  );
});

test('the last line names what was skipped only when something was', () => {
  expect(lastLine(nothing)).toBe('0 passed, 0 failed');
  expect(lastLine(add(onePassed, oneFailed))).toBe('1 passed, 1 failed');
  expect(lastLine({ passed: 12, failed: 0, skipped: 3 })).toBe('12 passed, 0 failed, 3 skipped');
});

test('what failed is printed again with its error, and what needed a second try', () => {
  const message = `AssertionError: \u001b[31mexpected 1 to be 2\u001b[39m\n${'    at somewhere\n'.repeat(40)}`;
  const testResults = [
    {
      name: '/x/test/envoy/one.test.ts',
      status: 'failed',
      assertionResults: [
        { status: 'passed', fullName: 'fine', failureMessages: [] },
        { status: 'failed', fullName: 'adds up', failureMessages: [message] },
        { status: 'passed', fullName: 'slow', failureMessages: ['Error: late'] },
      ],
    },
    { name: '/x/two.test.ts', status: 'failed', message: 'SyntaxError: what', assertionResults: [] },
    {
      name: '/x/three.test.ts',
      status: 'passed',
      message: '',
      assertionResults: [{ status: 'passed', fullName: 'fine' }],
    },
  ];
  const [first = '', ...others] = troubles({ ...counts(3, 1), testResults });
  expect(first.split('\n').slice(0, 3)).toEqual([
    'failed: one.test.ts > adds up',
    '    AssertionError: expected 1 to be 2',
    '        at somewhere',
  ]);
  expect(first.split('\n')).toHaveLength(13);
  expect(others).toEqual([
    'passed on a later try: one.test.ts > slow\n    Error: late',
    'failed: two.test.ts\n    SyntaxError: what',
  ]);
  expect(troubles(undefined)).toEqual([]);
});

describe('files that are run again', () => {
  const file = (name: string, tests: Readonly<Record<string, 'passed' | 'failed' | 'pending'>>) => ({
    name,
    status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({
      ...{ fullName, status },
      failureMessages: status === 'failed' ? [`Error: ${fullName} was late`] : [],
    })),
  });
  const first = {
    ...counts(2, 2, 5),
    testResults: [
      file('/x/fine.test.ts', { fine: 'passed', later: 'pending' }),
      file('/x/bad.test.ts', { one: 'passed', two: 'failed', three: 'failed' }),
    ],
  };
  const allPassed = {
    ...counts(3, 0),
    testResults: [file('/x/bad.test.ts', { one: 'passed', two: 'passed', three: 'passed' })],
  };

  test('are those with a failure', () => {
    expect(failedFiles(first)).toEqual(['/x/bad.test.ts']);
    expect(failedFiles(undefined)).toEqual([]);
  });

  test('count as their second results say, and what failed before is printed', () => {
    const again = {
      ...counts(2, 1),
      testResults: [file('/x/bad.test.ts', { one: 'passed', two: 'passed', three: 'failed' })],
    };
    const both = withSecondTries(first, again);
    expect(tallyVitest(both, 1)).toEqual({ passed: 3, failed: 1, skipped: 1 });
    expect(troubles(both)).toEqual([
      'passed on a later try: bad.test.ts > two\n    Error: two was late',
      'failed: bad.test.ts > three\n    Error: three was late',
    ]);
  });

  test('that all pass make the run pass', () => {
    expect(tallyVitest(withSecondTries(first, allPassed), 0)).toEqual({ passed: 4, failed: 0, skipped: 1 });
  });

  test('change nothing when they leave no report, or end badly', () => {
    expect(withSecondTries(first, undefined)).toBeUndefined();
    expect(tallyVitest(withSecondTries(first, allPassed), 1)).toEqual({ passed: 4, failed: 1, skipped: 1 });
  });
});
