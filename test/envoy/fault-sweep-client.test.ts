import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { sweepCases } from './support/fault-sweep/sweep-cases.ts';
import { askThroughClient } from './support/fault-sweep/sweep-client.ts';
import { promptFaults } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { runSweep } from './support/fault-sweep/sweep-run.ts';
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_803;
const report = createSweepReport(seed);
afterAll(report.print);
const shapes = Object.values(sweepShapes);

let gateway: SweepGateway;

beforeAll(async () => {
  gateway = await startSweepGateway({ shapes });
});
afterAll(async () => gateway.close());

test('the official client’s stream helper notices none of the faults', async () => {
  const chance = chanceFrom(seed);
  const references = [];
  for (const shape of shapes) references.push(await gateway.reference(shape));
  const cases = references.flatMap((reference) =>
    sweepCases(reference, { faults: promptFaults, bytes: 40, chance, oneOf: 8 }),
  );
  expect(report.lost(checkUnseen(await runSweep(gateway, cases, { ask: askThroughClient(gateway) })))).toEqual([]);
  await gateway.expectNothingLeft();
});
