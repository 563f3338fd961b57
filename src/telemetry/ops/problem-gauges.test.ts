import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { metricIn } from '../../../test/support/metric-in.ts';
import { sampleProblem } from '../../../test/support/sample-problem.ts';
import { problemKinds } from '../../core/problem.ts';
import { addProblemGauges } from './problem-gauges.ts';

it('shows each current problem by name and the count of each kind, and nothing of those that have ended', async () => {
  const registry = new Registry();
  let problems = [sampleProblem(), sampleProblem({ object: 'Backend/b' })];
  addProblemGauges(registry, () => problems);
  const before = await registry.metrics();
  expect(before).toContain('weir_problem{object="Backend/vllm-a",kind="backend-down"} 1');
  expect(metricIn(before, 'weir_problems', { kind: 'backend-down' })).toBe(2);
  problems = [];
  const after = await registry.metrics();
  expect(after).not.toContain('weir_problem{');
  expect(after.match(/^weir_problems\{kind="[\w-]+"\} 0$/gm)).toHaveLength(problemKinds.length);
});

it('names a hundred at most, and counts all', async () => {
  const registry = new Registry();
  addProblemGauges(registry, () =>
    Array.from({ length: 500 }, (_, count) => sampleProblem({ object: `Backend/${count}` })),
  );
  const text = await registry.metrics();
  expect(text.match(/^weir_problem\{/gm)).toHaveLength(100);
  expect(metricIn(text, 'weir_problems', { kind: 'backend-down' })).toBe(500);
});
