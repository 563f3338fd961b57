import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** Results of one step, or of all of them. A step that is not made of tests counts as one. */
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
export function lastLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

const report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numTotalTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({ status: z.string(), fullName: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});
type Report = z.infer<typeof report>;
type FileResult = Report['testResults'][number];

/** The files of a vitest report in which something failed; none where there is no report. */
export function failedFiles(json: unknown): readonly string[] {
  const files = report.safeParse(json).data?.testResults ?? [];
  return files.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/**
 * The report of a run with the files that were run again in the place of their first results. What failed the first time keeps that
 * error, so that `troubles` reports it. Undefined when one of the two reports is missing.
 */
export function withSecondTries(first: unknown, second: unknown): Report | undefined {
  const before = report.safeParse(first).data;
  const after = report.safeParse(second).data;
  if (before === undefined || after === undefined) return undefined;
  const testResults = before.testResults.map((file) => {
    const again = after.testResults.find(({ name }) => name === file.name);
    return again === undefined ? file : withFirstErrors(again, file);
  });
  const statuses = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
  return {
    testResults,
    numPassedTests: statuses.filter((status) => status === 'passed').length,
    numFailedTests: statuses.filter((status) => status === 'failed').length,
    numTotalTests: statuses.length,
  };
}

function withFirstErrors(again: FileResult, first: FileResult): FileResult {
  const errors = new Map(first.assertionResults.map(({ fullName, failureMessages }) => [fullName, failureMessages]));
  const assertionResults = again.assertionResults.map((test) => ({
    ...test,
    failureMessages: test.status === 'failed' ? test.failureMessages : errors.get(test.fullName),
  }));
  return { ...again, assertionResults };
}

/**
 * Counts the tests of vitest's JSON report (`undefined` when it left none) beside its exit code. A run that ended badly
 * for a reason that no test shows counts as one failed test: a crash, a file that did not load, a time limit.
 */
export function tallyVitest(json: unknown, exitCode: number | string): Tally {
  const { data } = report.safeParse(json);
  if (data === undefined) return oneFailed;
  const { numPassedTests: passed, numFailedTests: failed, numTotalTests: total } = data;
  const unseen = exitCode !== 0 && failed === 0 ? 1 : 0;
  return { passed, failed: failed + unseen, skipped: total - passed - failed };
}

/**
 * The first lines of each error of a vitest report: of tests that failed, of tests that passed on a later try only, and of
 * files that did not load. Repeated at the end of a run, because many readers see only that.
 */
export function troubles(json: unknown): readonly string[] {
  const files = report.safeParse(json).data?.testResults ?? [];
  return files.flatMap(({ name, status, message = '', assertionResults }) => {
    const inTests = assertionResults.flatMap((test) => {
      const [error] = test.failureMessages ?? [];
      const what = test.status === 'failed' ? 'failed' : 'passed on a later try';
      return error === undefined ? [] : [`${what}: ${basename(name)} > ${test.fullName}\n${firstLines(error)}`];
    });
    const isOutside = status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
    return isOutside ? [...inTests, `failed: ${basename(name)}\n${firstLines(message)}`] : inTests;
  });
}

const shownLines = 12;

function firstLines(message: string): string {
  const lines = stripVTControlCharacters(message).trim().split('\n').slice(0, shownLines);
  return lines.map((line) => `    ${line}`).join('\n');
}
