import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { readSuiteMarks } from './suite-marks.ts';

/** Vitest's own order, which goes by the durations of the last run where it has them, after the files marked `long`. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const long = new Set(readSuiteMarks(root).long);
    const placeOf = ({ moduleId }: TestSpecification): number => (long.has(relative(root, moduleId)) ? 0 : 1);
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
