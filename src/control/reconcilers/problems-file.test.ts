// @suite apart
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleProblem } from '../../../test/support/sample-problem.ts';
import { createProblemsFile } from './problems-file.ts';

describe('the file of problems', () => {
  it('has the list that was saved last, of each service its own, for its owner alone', async () => {
    const data = temporaryFolder();
    const file = createProblemsFile(data, 2);
    expect(await file.load()).toEqual([]);
    await file.save([sampleProblem(), sampleProblem({ object: 'Backend/other' })]);
    await file.save([sampleProblem()]);
    expect(await createProblemsFile(data, 2).load()).toEqual([sampleProblem()]);
    expect(await createProblemsFile(data, 1).load()).toEqual([]);
    expect(statSync(join(data, 'problems', 'service-2.json')).mode & 0o777).toBe(0o600);
  });

  it.each(['', '{', '{"version":2,"problems":[]}', '{"version":1,"problems":[{"object":"x"}]}'])(
    'is as good as none when it holds %j',
    async (text) => {
      const data = temporaryFolder();
      mkdirSync(join(data, 'problems'));
      writeFileSync(join(data, 'problems', 'service-1.json'), text);
      expect(await createProblemsFile(data, 1).load()).toEqual([]);
    },
  );
});
