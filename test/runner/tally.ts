import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** What one step, or all of them, came to. A step that is not made of tests counts as one. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0 };
export const onePassed: Tally = { ...nothing, passed: 1 };
export const oneFailed: Tally = { ...nothing, failed: 1 };

export function add(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  };
}

/** The last line of a run: what a machine reads. */
export function lastLine(tally: Tally): string {
  const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : '';
  return `${tally.passed} passed, ${tally.failed} failed${skipped}`;
}

const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string().optional(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string().optional(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/**
 * Reads vitest's JSON report (`undefined` when it left none) beside its exit code.
 *
 * A file that failed outside its tests (it did not load, its last hook threw) counts as one failed test, and so does a
 * run that ended badly for a reason that no test shows: a crash, an unhandled rejection, a time limit.
 */
export function tallyVitest(json: unknown, exitCode: number | string): Tally {
  const parsed = report.safeParse(json);
  if (!parsed.success) return oneFailed;
  let sum = nothing;
  for (const file of parsed.data.testResults) {
    let tests = nothing;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') tests = add(tests, onePassed);
      else if (status === 'failed') tests = add(tests, oneFailed);
      else tests = add(tests, { ...nothing, skipped: 1 });
    }
    if (file.status === 'failed' && tests.failed === 0) tests = add(tests, oneFailed);
    sum = add(sum, tests);
  }
  return exitCode !== 0 && sum.failed === 0 ? add(sum, oneFailed) : sum;
}

/**
 * What is repeated at the end of a run, where whoever sees only that reads it: every test of a vitest report that
 * failed, or that passed on a later try only, with the first lines of its error.
 */
export function troubles(json: unknown): readonly string[] {
  const parsed = report.safeParse(json);
  if (!parsed.success) return [];
  return parsed.data.testResults.flatMap((file) => {
    const where = file.name === undefined ? '' : basename(file.name);
    const ofTests = file.assertionResults.flatMap(({ status, fullName = '', failureMessages }) => {
      const [message] = failureMessages ?? [];
      if (status !== 'failed' && message === undefined) return [];
      const what = status === 'failed' ? 'failed' : 'passed on a later try';
      return [`${what}: ${where} > ${fullName}\n${firstLines(message ?? '')}`];
    });
    const itself = file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed');
    return itself ? [...ofTests, `failed: ${where}\n${firstLines(file.message ?? '')}`] : ofTests;
  });
}

const shownLines = 12;

function firstLines(message: string): string {
  const lines = stripVTControlCharacters(message).trim().split('\n').slice(0, shownLines);
  return lines.map((line) => `    ${line}`).join('\n');
}
