import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { chanceFrom } from '../../../support/chance.ts';
import type { Weir } from '../../../support/weir.ts';
import type { PutTogether } from '../put-together.ts';
import { checkAlone, checkUnseen } from './check-sweep.ts';
import { type CasesAsk, sweepCases } from './sweep-cases.ts';
import { promptFaults, type SweepCase } from './sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './sweep-gateway.ts';
import { createSweepReport } from './sweep-report.ts';
import { type AskCase, runSweep } from './sweep-run.ts';
import { type SweepShape, sweepShapes } from './sweep-shapes.ts';
import type { SweepSurface } from './sweep-surface.ts';
import { sweepVariants } from './sweep-variants.ts';

/** A request that the official client of a surface is to make. */
export interface ClientCall {
  readonly weir: Weir;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** The client must use it. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
}

interface SurfaceSweep {
  readonly surface: SweepSurface;
  readonly seed: number;
  /** Names of `sweepVariants` that mean something on this surface. */
  readonly bent: readonly string[];
  /** Streams with the official client. Resolves to its final answer. */
  readonly streamWithClient: (call: ClientCall) => Promise<object>;
  /** Adds what the client leaves out of its final answer. `read`: the answer that the bytes hold. Absent: it leaves nothing out. */
  readonly complete?: (final: object, read: PutTogether) => object;
  /** As the titles of the tests have them: `a messages stream`, `a message`, `an error event`. */
  readonly titles: { readonly stream: string; readonly whole: string; readonly failure: string };
}

/** The tests of a surface beside the chat format's: its streams break by every fault, beside other routes and alone. */
export function sweepSurface({ surface, seed, bent, streamWithClient, complete, titles }: SurfaceSweep): void {
  // Hundreds of requests: a busy machine takes its time.
  vi.setConfig({ testTimeout: 240_000 });

  const report = createSweepReport(seed);
  afterAll(report.print);

  const { text, reasoning, tools, spokenTools, json } = sweepShapes;
  const shapes: readonly SweepShape[] = [text, reasoning, tools, spokenTools, json, ...bent.map(variantNamed)];

  async function casesFor(
    gateway: SweepGateway,
    broken: readonly SweepShape[],
    ask: Omit<CasesAsk, 'chance'>,
  ): Promise<readonly SweepCase[]> {
    const chance = chanceFrom(seed);
    const cases: SweepCase[] = [];
    for (const shape of broken) cases.push(...sweepCases(await gateway.reference(shape), { ...ask, chance }));
    return cases;
  }

  describe('beside an able route', () => {
    let gateway: SweepGateway;
    beforeAll(async () => {
      gateway = await startSweepGateway({ shapes, surface });
    });
    afterAll(async () => gateway.close());

    test.each(promptFaults)(
      `${titles.stream} that breaks by %s is delivered as if nothing had happened`,
      async (fault) => {
        const cases = await casesFor(gateway, shapes, { faults: [fault], bytes: 12, oneOf: 4 });
        expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
        await gateway.expectNothingLeft();
      },
    );

    test(`${titles.whole} in one piece that breaks comes whole from there`, async () => {
      const cases = await casesFor(gateway, shapes, { faults: promptFaults, bytes: 8, oneOf: 6, stream: false });
      expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
      await gateway.expectNothingLeft();
    });

    /** Reads the same bytes with and without the client: an answer that is not what the bytes say has the status 0. */
    const askClient: AskCase = async (ask) => {
      let raw: Promise<string> | undefined;
      const { weir, bodyOf } = gateway;
      const call: ClientCall = {
        ...{ weir, body: bodyOf(ask), headers: { 'x-request-id': ask.id ?? '' } },
        fetch: async (input, init) => {
          const response = await weir.fetch(input, init);
          const [one, other] = response.body?.tee() ?? [];
          raw = new Response(one).text();
          return new Response(other, response);
        },
      };
      try {
        const final = await streamWithClient(call);
        const bytes = (await raw) ?? '';
        const answer = surface.read(bytes, true);
        const seen = surface.read(JSON.stringify(complete?.(final, answer) ?? final), false);
        if (JSON.stringify(seen) === JSON.stringify(answer)) return { status: 200, body: bytes };
        return { status: 0, body: `the client has ${JSON.stringify(seen)}, the bytes ${JSON.stringify(answer)}` };
      } catch (error) {
        return { status: 0, body: `${String(error)} ${await (raw ?? Promise.resolve('')).catch(String)}` };
      }
    };

    test('the official client’s stream helper notices none of the faults', async () => {
      const cases = await casesFor(gateway, [text, reasoning, tools, spokenTools, json], {
        faults: promptFaults,
        bytes: 12,
        oneOf: 12,
      });
      expect(report.lost(checkUnseen(await runSweep(gateway, cases, { ask: askClient })))).toEqual([]);
      await gateway.expectNothingLeft();
    });
  });

  describe('with a single route', () => {
    let gateway: SweepGateway;
    beforeAll(async () => {
      gateway = await startSweepGateway({ shapes, surface, second: 'none' });
    });
    afterAll(async () => gateway.close());

    test(`${titles.stream} that breaks says so in ${titles.failure}, and what was delivered is billed`, async () => {
      const cases = await casesFor(gateway, shapes, { faults: promptFaults, bytes: 8, oneOf: 12 });
      expect(report.lost(checkAlone(await runSweep(gateway, cases)))).toEqual([]);
      await gateway.expectNothingLeft();
    });
  });

  describe('with a single route that falls silent', () => {
    const silent = [text, reasoning, tools, json];
    let gateway: SweepGateway;
    beforeAll(async () => {
      gateway = await startSweepGateway({ shapes: silent, surface, second: 'none', idleSeconds: 3 });
    });
    afterAll(async () => gateway.close());

    test(`${titles.stream} says so, too`, async () => {
      const cases = await casesFor(gateway, silent, { faults: ['stall'], bytes: 8, oneOf: 6 });
      expect(report.lost(checkAlone(await runSweep(gateway, cases, { atOnce: 64 })))).toEqual([]);
      await gateway.expectNothingLeft();
    });
  });
}

function variantNamed(name: string): SweepShape {
  const shape = Object.values(sweepVariants)
    .flat()
    .find((variant) => variant.name === name);
  if (shape === undefined) throw new Error(`there is no shape ${name}`);
  return shape;
}
