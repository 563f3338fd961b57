import { matchesGlob } from 'node:path';
import { promiseFiles } from './promises.ts';
import type { SuiteMarks } from './suite-marks.ts';

/** For a project of vitest. */
interface Chosen {
  readonly include: string[];
  readonly exclude: string[];
}

type Choose = (include: readonly string[], exclude?: readonly string[]) => Chosen;

/**
 * The files of a project in one part of the tests (steps.ts): `npm test` leaves out unit tests that are marked `slow`, and of the tests with real
 * programs it runs those of promises.ts; the part `rest` has the other ones with real programs. Without a part, all files.
 */
export function chosenFiles(part: string | undefined, { slow }: SuiteMarks): { units: Choose; withPrograms: Choose } {
  const short = [...promiseFiles];
  return {
    units: (include, exclude = []) => ({
      include: [...include],
      exclude: [...exclude, ...(part === 'short' ? slow : [])],
    }),
    withPrograms: (include, exclude = []) => {
      if (part !== 'short') return { include: [...include], exclude: [...exclude, ...(part === 'rest' ? short : [])] };
      const matches = (file: string, patterns: readonly string[]): boolean =>
        patterns.some((pattern) => matchesGlob(file, pattern));
      // An empty list would mean every file.
      const files = short.filter((file) => matches(file, include) && !matches(file, exclude));
      return { include: files.length > 0 ? files : ['none'], exclude: [] };
    },
  };
}
