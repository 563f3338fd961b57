// @suite long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { checkAlone, checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { sweepCases } from './support/fault-sweep/sweep-cases.ts';
import type { SweepCase } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { runSweep } from './support/fault-sweep/sweep-run.ts';
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_805;
const report = createSweepReport(seed);
afterAll(report.print);
const shapes = Object.values(sweepShapes);
const faults = ['stall'] as const;

let accompanied: SweepGateway;
let alone: SweepGateway;

// Each case takes the time after which silence is given up, so hundreds wait at once. An engine that is well may be silent for a second or
// two where cores are short.
beforeAll(async () => {
  accompanied = await startSweepGateway({ shapes, idleSeconds: 4 });
  alone = await startSweepGateway({ shapes, second: 'none', idleSeconds: 4, keepAliveSeconds: 60 });
});
afterAll(async () => {
  await accompanied.close();
  await alone.close();
});

async function casesFor(gateway: SweepGateway, bytes: number): Promise<readonly SweepCase[]> {
  const chance = chanceFrom(seed);
  const cases: SweepCase[] = [];
  for (const shape of shapes) {
    const reference = await gateway.reference(shape);
    // An answer in one piece is waited for ten times as long: these go first.
    cases.unshift(...sweepCases(reference, { faults, bytes: 8, chance, stream: false }));
    cases.push(...sweepCases(reference, { faults, bytes: shape === sweepShapes.spokenTools ? 10 : bytes, chance }));
  }
  return cases;
}

test('an engine that falls silent goes unseen beside another; alone, its answer is said to have broken', async () => {
  const [unseen, said] = await Promise.all([
    runSweep(accompanied, await casesFor(accompanied, 200), { atOnce: 128 }),
    runSweep(alone, await casesFor(alone, 10), { atOnce: 70 }),
  ]);
  expect(report.lost(checkUnseen(unseen))).toEqual([]);
  expect(report.lost(checkAlone(said))).toEqual([]);
  await accompanied.expectNothingLeft();
  await alone.expectNothingLeft();
});
