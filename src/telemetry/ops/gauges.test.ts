import { expect, it } from 'vitest';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { metricIn } from '../../../test/support/metric-in.ts';
import { sampleProblem } from '../../../test/support/sample-problem.ts';
import { problemKinds } from '../../control/core/problem.ts';
import { createSlices } from '../../process/turns.ts';
import { createMetrics } from './metrics.ts';

it('shows each current problem by name and the count of each kind, and nothing of those that have ended', async () => {
  let problems = [sampleProblem(), sampleProblem({ object: 'Backend/b' })];
  const { render } = createMetrics(idleFigures({ problems: () => problems }), { inSlices: createSlices() });
  const before = await render('prometheus');
  expect(before).toContain('weir_problem{object="Backend/vllm-a",kind="backend-down"} 1');
  expect(metricIn(before, 'weir_problems', { kind: 'backend-down' })).toBe(2);
  problems = [];
  const after = await render('prometheus');
  expect(after).not.toContain('weir_problem{');
  expect(after.match(/^weir_problems\{kind="[\w-]+"\} 0$/gm)).toHaveLength(problemKinds.length);
});

it('names a hundred at most, and counts all', async () => {
  const many = Array.from({ length: 500 }, (_, count) => sampleProblem({ object: `Backend/${count}` }));
  const { render } = createMetrics(idleFigures({ problems: () => many }), { inSlices: createSlices() });
  const text = await render('prometheus');
  expect(text.match(/^weir_problem\{/gm)).toHaveLength(100);
  expect(metricIn(text, 'weir_problems', { kind: 'backend-down' })).toBe(500);
});
