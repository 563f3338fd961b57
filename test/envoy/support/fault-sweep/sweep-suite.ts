import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../../../support/chance.ts';
import { checkUnseen } from './check-sweep.ts';
import { sweepCases } from './sweep-cases.ts';
import { promptFaults } from './sweep-faults.ts';
import type { SecondRoute } from './sweep-catalog.ts';
import { startSweepGateway, type SweepGateway } from './sweep-gateway.ts';
import { createSweepReport } from './sweep-report.ts';
import { runSweep } from './sweep-run.ts';
import type { SweepShape } from './sweep-shapes.ts';

export interface SweepSuite {
  readonly shapes: readonly SweepShape[];
  readonly seed: number;
  /** At how many of its bytes an answer is broken. */
  readonly bytesFor: (shape: SweepShape) => number;
  /** `able` unless told. */
  readonly second?: SecondRoute;
}

/** Registers the sweep of these answers, a test for each: beside a second route or endpoint, each may break anywhere. */
export function sweepUnseen({ shapes, seed, bytesFor, second = 'able' }: SweepSuite): void {
  // Thousands of requests: a busy machine takes its time.
  vi.setConfig({ testTimeout: 240_000 });

  const report = createSweepReport(seed);
  let gateway: SweepGateway;

  beforeAll(async () => {
    gateway = await startSweepGateway({ shapes, second });
  });
  afterAll(async () => gateway.close());
  afterAll(report.print);

  test.each(shapes)('an answer ($name) that breaks anywhere is delivered as if nothing had happened', async (shape) => {
    const reference = await gateway.reference(shape);
    const cases = sweepCases(reference, { faults: promptFaults, bytes: bytesFor(shape), chance: chanceFrom(seed) });
    expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });
}
