import { expect, test } from 'vitest';
import { chosenFiles } from './chosen-files.ts';
import { promiseFiles } from './promises.ts';

const marks = {
  ...{ apart: [], alone: ['test/envoy/hedging.test.ts'], waits: [], long: [], 'both-databases': [] },
  slow: ['src/sweep.test.ts'],
};
const files = (part: string | undefined) => chosenFiles(part, marks);
const everywhere = ['test/envoy/**/*.test.ts'];

test('the short part leaves out slow unit tests, and of tests with real programs it has the promises', () => {
  const { units, withPrograms } = files('short');
  expect(units(['src/**/*.test.ts'], ['src/apart.test.ts'])).toEqual({
    include: ['src/**/*.test.ts'],
    exclude: ['src/apart.test.ts', 'src/sweep.test.ts'],
  });
  const { include } = withPrograms(everywhere, marks.alone);
  expect(include).toContain('test/envoy/chat.test.ts');
  expect(include.every((file) => promiseFiles.has(file) && file !== 'test/envoy/hedging.test.ts')).toBe(true);
  expect(withPrograms(marks.alone).include).toEqual(marks.alone);
  expect(withPrograms(['test/kube/*.test.ts'])).toEqual({ include: ['none'], exclude: [] });
});

test('the rest has what the short part has not', () => {
  const { include, exclude } = files('rest').withPrograms(everywhere, marks.alone);
  expect([include, exclude]).toEqual([everywhere, [...marks.alone, ...promiseFiles]]);
});

test('without a part every file runs', () => {
  const { units, withPrograms } = files(undefined);
  expect(units(['a'])).toEqual({ include: ['a'], exclude: [] });
  expect(withPrograms(everywhere, ['b'])).toEqual({ include: everywhere, exclude: ['b'] });
});
