import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { marksIn, readSuiteMarks, SuiteMarkError } from './suite-marks.ts';

test('a first line declares one mark or several', () => {
  expect(marksIn('src/a.test.ts', '// @suite apart both-databases')).toEqual(['apart', 'both-databases']);
  expect(marksIn('test/envoy/a.test.ts', '// @suite alone long')).toEqual(['alone', 'long']);
  expect(marksIn('src/a.test.ts', "import { expect } from 'vitest';")).toEqual([]);
});

test.each([
  ['src/a.test.ts', '// @suite alnoe', 'alnoe'],
  ['src/a.test.ts', '// @suite long toString', 'toString'],
  ['src/a.test.ts', '// @suite', ''],
  // No suite would look for it there.
  ['src/a.test.ts', '// @suite alone', 'alone'],
  ['test/envoy/a.test.ts', '// @suite apart', 'apart'],
])('an unknown mark or one in the wrong place is an error: %s %s', (file, line, mark) => {
  expect(() => marksIn(file, line)).toThrow(SuiteMarkError);
  expect(() => marksIn(file, line)).toThrow(`${file}: "@suite ${mark}" is not known; expected one of `);
});

test('only the first line of a test file counts', () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-marks-'));
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  try {
    write('src/deep/one.test.ts', '// @suite apart\n');
    write('src/two.test.ts', '// A test.\n// @suite apart\n');
    write('src/three.ts', '// @suite apart\n');
    write('test/envoy/four.test.ts', '// @suite alone long');
    expect(readSuiteMarks(root)).toEqual({
      ...{ apart: ['src/deep/one.test.ts'], alone: ['test/envoy/four.test.ts'] },
      ...{ waits: [], 'both-databases': [], slow: [], long: ['test/envoy/four.test.ts'] },
    });
  } finally {
    rmSync(root, { recursive: true });
  }
});
