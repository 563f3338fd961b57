import { expect, test, vi } from 'vitest';
import { chanceFrom } from '../../../support/chance.ts';
import { forFile } from '../../../support/for-file.ts';
import { checkUnseen, lostOf } from './check-sweep.ts';
import { promptFaults, type SweepCase, sweepCases, type SweepFault } from './sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './sweep-gateway.ts';
import { type AskCase, runSweep } from './sweep-run.ts';
import type { SweepShape } from './sweep-shapes.ts';

/** A part of a sweep: which answers are broken, and where. Nobody may see it. */
export interface SweepPart {
  readonly title: string;
  /** At how many of its bytes an answer is broken, besides every boundary between events. */
  readonly bytes: number;
  readonly shapes: readonly SweepShape[];
  /** All unless told. */
  readonly faults?: readonly SweepFault[];
  /** Only one place of so many. */
  readonly oneOf?: number;
  /** By whom it is asked; without a client library unless told. */
  readonly ask?: (gateway: SweepGateway) => AskCase;
}

/** Registers a sweep beside a second route, on a gateway of its own, a test for each part. The same seed gives the same cases. */
export async function sweep(seed: number, parts: readonly SweepPart[]): Promise<void> {
  // Thousands of requests: a busy machine takes its time.
  vi.setConfig({ testTimeout: 240_000 });

  const gateway = await forFile(startSweepGateway([...new Set(parts.flatMap(({ shapes }) => shapes))]));

  test.each(parts)('$title', async ({ title, shapes, faults = promptFaults, bytes, oneOf = 1, ask }) => {
    const chance = chanceFrom(seed);
    const cases: SweepCase[] = [];
    for (const shape of shapes)
      cases.push(...sweepCases(await gateway.reference(shape), { faults, bytes, oneOf, chance }));
    const tried = await runSweep(gateway, cases, ask?.(gateway));
    expect(lostOf(checkUnseen(tried)), `seed ${seed}`).toEqual([]);
    console.log(`${title}: ${tried.length} tries`);
    await gateway.expectNothingLeft();
  });
}
