import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chanceFrom } from '../../../support/chance.ts';
import { checkUnseen } from './check-sweep.ts';
import { sweepCases } from './sweep-cases.ts';
import { promptFaults, type SweepCase, type SweepFault } from './sweep-faults.ts';
import { startSweepGateway, type SweepGateway, type SweepGatewayOptions } from './sweep-gateway.ts';
import { createSweepReport } from './sweep-report.ts';
import { type AskCase, runSweep } from './sweep-run.ts';
import type { SweepShape } from './sweep-shapes.ts';

/** A part of a sweep: which answers are broken, where, and what is expected of them. */
export interface SweepPart {
  readonly title: string;
  readonly check: typeof checkUnseen;
  /** At how many of its bytes an answer is broken, besides every boundary between events. */
  readonly bytes: number;
  /** All of the gateway unless told. */
  readonly shapes?: readonly SweepShape[];
  /** Those that show at once unless told. */
  readonly faults?: readonly SweepFault[];
  /** Only one place of so many. */
  readonly oneOf?: number;
  /** In a stream unless told. */
  readonly stream?: boolean;
  readonly atOnce?: number;
  /** By whom it is asked; without a client library unless told. */
  readonly ask?: (gateway: SweepGateway) => AskCase;
  /** Expects that the spare engine was asked nothing. */
  readonly spareIsIdle?: true;
}

/** The cases of a part. The same seed gives the same ones. */
export async function casesOf(
  gateway: SweepGateway,
  { shapes, faults = promptFaults, bytes, oneOf = 1, stream = true }: Omit<SweepPart, 'title' | 'check'>,
  seed: number,
): Promise<readonly SweepCase[]> {
  const chance = chanceFrom(seed);
  const cases: SweepCase[] = [];
  for (const shape of shapes ?? [])
    cases.push(...sweepCases(await gateway.reference(shape), { faults, bytes, oneOf, stream, chance }));
  return cases;
}

/** Registers a sweep on a gateway of its own, a test for each part. */
export function sweep(options: SweepGatewayOptions, seed: number, parts: readonly SweepPart[]): void {
  // Thousands of requests: a busy machine takes its time.
  vi.setConfig({ testTimeout: 240_000 });

  const report = createSweepReport(seed);
  let gateway: SweepGateway;

  beforeAll(async () => {
    gateway = await startSweepGateway(options);
  });
  afterAll(async () => gateway.close());
  afterAll(report.print);

  test.each(parts)('$title', async ({ shapes = options.shapes, check, ask, atOnce, spareIsIdle, ...part }) => {
    const cases = await casesOf(gateway, { ...part, shapes }, seed);
    const asking = { ...(ask === undefined ? {} : { ask: ask(gateway) }), ...(atOnce === undefined ? {} : { atOnce }) };
    expect(report.lost(check(await runSweep(gateway, cases, asking)))).toEqual([]);
    if (spareIsIdle === true) expect(gateway.spare.requests()).toEqual([]);
    await gateway.expectNothingLeft();
  });
}

/** Each of these answers may break anywhere beside a second route, or endpoint, and nobody may see it. */
export function sweepUnseen({
  shapes,
  seed,
  bytesFor,
  ...options
}: SweepGatewayOptions & { readonly seed: number; readonly bytesFor: (shape: SweepShape) => number }): void {
  sweep(
    { shapes, ...options },
    seed,
    shapes.map((shape) => ({
      title: `an answer (${shape.name}) that breaks anywhere is delivered as if nothing had happened`,
      ...{ check: checkUnseen, shapes: [shape], bytes: bytesFor(shape) },
    })),
  );
}
