// @suite long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { checkAlone, checkUnseen } from './support/fault-sweep/check-sweep.ts';
import type { SweepCase } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { runSweep } from './support/fault-sweep/sweep-run.ts';
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { casesOf } from './support/fault-sweep/sweep-suite.ts';

// Thousands of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_805;
const report = createSweepReport(seed);
afterAll(report.print);
const shapes = Object.values(sweepShapes);
const { spokenTools } = sweepShapes;
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

/** An answer in one piece is waited for ten times as long: these go first. */
const casesFor = async (gateway: SweepGateway, bytes: number): Promise<readonly SweepCase[]> => [
  ...(await casesOf(gateway, { shapes, faults, bytes: 8, stream: false }, seed)),
  ...(await casesOf(gateway, { shapes: shapes.filter((shape) => shape !== spokenTools), faults, bytes }, seed)),
  // Text before tools is two answers that are swept by themselves.
  ...(await casesOf(gateway, { shapes: [spokenTools], faults, bytes: 10 }, seed)),
];

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
