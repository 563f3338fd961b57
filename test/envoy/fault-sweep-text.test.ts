import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { judgeUnseen } from '../support/fault-sweep/judge-sweep.ts';
import { sweepCases } from '../support/fault-sweep/sweep-cases.ts';
import { promptFaults } from '../support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from '../support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from '../support/fault-sweep/sweep-report.ts';
import { runSweep } from '../support/fault-sweep/sweep-run.ts';
import { sweepShapes } from '../support/fault-sweep/sweep-shapes.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_801;
const shapes = [sweepShapes.text, sweepShapes.reasoning, sweepShapes.json];
const report = createSweepReport(seed);
let gateway: SweepGateway;

beforeAll(async () => {
  gateway = await startSweepGateway({ shapes });
});
afterAll(async () => gateway.close());
afterAll(report.print);

test.each(shapes)('an answer ($name) that breaks anywhere is delivered as if nothing had happened', async (shape) => {
  const reference = await gateway.reference(shape);
  const cases = sweepCases(reference, { faults: promptFaults, bytes: 200, chance: chanceFrom(seed) });
  expect(report.lost(judgeUnseen(await runSweep(gateway, cases)))).toEqual([]);
  await gateway.expectNothingLeft();
});
