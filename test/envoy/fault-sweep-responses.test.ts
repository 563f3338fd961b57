// @suite long
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { checkAlone, checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { type CasesAsk, sweepCases } from './support/fault-sweep/sweep-cases.ts';
import { promptFaults, type SweepCase } from './support/fault-sweep/sweep-faults.ts';
import { startSweepGateway, type SweepGateway } from './support/fault-sweep/sweep-gateway.ts';
import { createSweepReport } from './support/fault-sweep/sweep-report.ts';
import { type AskCase, runSweep } from './support/fault-sweep/sweep-run.ts';
import { type SweepShape, sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { responsesSurface } from './support/fault-sweep/sweep-surface.ts';
import { sweepVariants } from './support/fault-sweep/sweep-variants.ts';

// Hundreds of requests: a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000 });

const seed = 20_260_826;
const report = createSweepReport(seed);
afterAll(report.print);

const { text, reasoning, tools, spokenTools, json } = sweepShapes;
const variants = Object.values(sweepVariants).flat();
const named = (name: string): SweepShape => {
  const shape = variants.find((variant) => variant.name === name);
  if (shape === undefined) throw new Error(`there is no shape ${name}`);
  return shape;
};
// This surface has no choices and no stop sequences. Calls side by side stay so.
const bent = ['reasoned-tools', 'interleaved-tools', 'whole-tools', 'mixed', 'refused', 'unicode', 'capped'].map(named);
const shapes: readonly SweepShape[] = [text, reasoning, tools, spokenTools, json, ...bent];

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
    gateway = await startSweepGateway({ shapes, surface: responsesSurface });
  });
  afterAll(async () => gateway.close());

  test.each(promptFaults)(
    'a responses stream that breaks by %s is delivered as if nothing had happened',
    async (fault) => {
      const cases = await casesFor(gateway, shapes, { faults: [fault], bytes: 12, oneOf: 4 });
      expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
      await gateway.expectNothingLeft();
    },
  );

  test('a response in one piece that breaks comes whole from there', async () => {
    const cases = await casesFor(gateway, shapes, { faults: promptFaults, bytes: 8, oneOf: 6, stream: false });
    expect(report.lost(checkUnseen(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });

  /** Reads the same bytes with and without the client: a response that is not what the bytes say has the status 0. */
  const askClient: AskCase = async (ask) => {
    let raw: Promise<string> | undefined;
    const { weir, bodyOf } = gateway;
    const client = weir.client({ apiKey: weir.key }).withOptions({
      fetch: async (input, init) => {
        const response = await weir.fetch(input, init);
        const [one, other] = response.body?.tee() ?? [];
        raw = new Response(one).text();
        return new Response(other, response);
      },
    });
    const body: unknown = bodyOf(ask);
    try {
      const options = { headers: { 'x-request-id': ask.id ?? '' } };
      const final = await client.responses
        .stream(body as Parameters<typeof client.responses.stream>[0], options)
        .finalResponse();
      const bytes = (await raw) ?? '';
      const response = responsesSurface.read(bytes, true);
      const seen = responsesSurface.read(JSON.stringify(final), false);
      if (JSON.stringify(seen) === JSON.stringify(response)) return { status: 200, body: bytes };
      return { status: 0, body: `the client has ${JSON.stringify(seen)}, the bytes ${JSON.stringify(response)}` };
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
    gateway = await startSweepGateway({ shapes, surface: responsesSurface, second: 'none' });
  });
  afterAll(async () => gateway.close());

  test('a responses stream that breaks says so in response.failed, and what was delivered is billed', async () => {
    const cases = await casesFor(gateway, shapes, { faults: promptFaults, bytes: 8, oneOf: 12 });
    expect(report.lost(checkAlone(await runSweep(gateway, cases)))).toEqual([]);
    await gateway.expectNothingLeft();
  });
});

describe('with a single route that falls silent', () => {
  const silent = [text, reasoning, tools, json];
  let gateway: SweepGateway;
  beforeAll(async () => {
    gateway = await startSweepGateway({ shapes: silent, surface: responsesSurface, second: 'none', idleSeconds: 3 });
  });
  afterAll(async () => gateway.close());

  test('a responses stream says so, too', async () => {
    const cases = await casesFor(gateway, silent, { faults: ['stall'], bytes: 8, oneOf: 6 });
    expect(report.lost(checkAlone(await runSweep(gateway, cases, { atOnce: 64 })))).toEqual([]);
    await gateway.expectNothingLeft();
  });
});
