// @suite long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { sweepCases } from './support/fault-sweep/sweep-cases.ts';
import type { SweepCase } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { runSweep } from './support/fault-sweep/sweep-run.ts';
import { sweepVariants } from './support/fault-sweep/sweep-variants.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_804;
const faults = ['cut', 'error-then-done', 'malformed-then-cut'] as const;
const report = createSweepReport(seed);
let gateway: SweepGateway;

beforeAll(async () => {
  gateway = await startSweepGateway({ shapes: Object.values(sweepVariants).flat() });
});
afterAll(async () => gateway.close());
afterAll(report.print);

test.each(Object.entries(sweepVariants))(
  'answers that break (%s) are delivered as if nothing had happened',
  async (_, shapes) => {
    const chance = chanceFrom(seed);
    const cases: SweepCase[] = [];
    for (const shape of shapes) {
      cases.push(...sweepCases(await gateway.reference(shape), { faults, bytes: 14, chance, oneOf: 2 }));
    }
    expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  },
);
