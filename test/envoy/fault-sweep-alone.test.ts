import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { checkAlone, checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { type CasesAsk, sweepCases } from './support/fault-sweep/sweep-cases.ts';
import { promptFaults, type SweepCase } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { runSweep } from './support/fault-sweep/sweep-run.ts';
import { type SweepShape, sweepShapes } from './support/fault-sweep/sweep-shapes.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_802;
const shapes = Object.values(sweepShapes);
const report = createSweepReport(seed);
afterAll(report.print);

async function casesFor(
  gateway: SweepGateway,
  broken: readonly SweepShape[],
  ask: Omit<CasesAsk, 'faults' | 'chance'>,
): Promise<readonly SweepCase[]> {
  const chance = chanceFrom(seed);
  const cases: SweepCase[] = [];
  for (const shape of broken) {
    cases.push(...sweepCases(await gateway.reference(shape), { ...ask, faults: promptFaults, chance }));
  }
  return cases;
}

describe('with a single route', () => {
  let gateway: SweepGateway;
  beforeAll(async () => {
    gateway = await startSweepGateway({ shapes, second: 'none' });
  });
  afterAll(async () => gateway.close());

  test('a stream that breaks says so, and what was delivered is billed', async () => {
    const cases = await casesFor(gateway, shapes, { bytes: 40, oneOf: 5 });
    expect(report.lost(checkAlone(await runSweep(gateway, cases)))).toEqual([]);
    expect(gateway.spare.requests()).toEqual([]);
    await gateway.expectNothingLeft();
  });

  test('an answer in one piece that breaks is a 502 and costs nothing', async () => {
    const cases = await casesFor(gateway, shapes, { bytes: 40, oneOf: 8, stream: false });
    expect(report.lost(checkAlone(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });
});

describe('with a second route that continues no answer', () => {
  let gateway: SweepGateway;
  beforeAll(async () => {
    gateway = await startSweepGateway({ shapes, second: 'discontinuous' });
  });
  afterAll(async () => gateway.close());

  test('a stream of text that breaks says so, and the second route is not asked to go on', async () => {
    const cases = await casesFor(gateway, [sweepShapes.text], { bytes: 60, oneOf: 3 });
    expect(report.lost(checkAlone(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });

  test('an answer in one piece that breaks comes whole from there', async () => {
    const cases = await casesFor(gateway, shapes, { bytes: 40, oneOf: 6, stream: false });
    expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });
});
