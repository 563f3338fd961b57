import { describe } from 'vitest';
import type { Weir } from '../../../support/weir.ts';
import type { PutTogether } from '../put-together.ts';
import { checkAlone, checkUnseen } from './check-sweep.ts';
import { promptFaults } from './sweep-faults.ts';
import type { SweepGateway } from './sweep-gateway.ts';
import type { AskCase } from './sweep-run.ts';
import { type SweepShape, sweepShapes } from './sweep-shapes.ts';
import { sweep } from './sweep-suite.ts';
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

/** Reads the same bytes with and without the client: an answer that is not what the bytes say has the status 0. */
const askThrough =
  ({ surface, streamWithClient, complete }: SurfaceSweep) =>
  ({ weir, bodyOf }: SweepGateway): AskCase =>
  async (ask) => {
    let raw: Promise<string> | undefined;
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

/** The tests of a surface beside the chat format's: its streams break by every fault, beside other routes and alone. */
export function sweepSurface(swept: SurfaceSweep): void {
  const { surface, seed, bent, titles } = swept;
  const { text, reasoning, tools, spokenTools, json } = sweepShapes;
  const usual: readonly SweepShape[] = [text, reasoning, tools, spokenTools, json];
  const shapes = [...usual, ...bent.map(variantNamed)];

  describe('beside an able route', () => {
    sweep({ shapes, surface }, seed, [
      ...promptFaults.map((fault) => ({
        title: `${titles.stream} that breaks by ${fault} is delivered as if nothing had happened`,
        ...{ check: checkUnseen, faults: [fault], bytes: 12, oneOf: 4 },
      })),
      {
        title: `${titles.whole} in one piece that breaks comes whole from there`,
        ...{ check: checkUnseen, bytes: 8, oneOf: 6, stream: false },
      },
      {
        title: 'the official client’s stream helper notices none of the faults',
        ...{ check: checkUnseen, shapes: usual, bytes: 12, oneOf: 12, ask: askThrough(swept) },
      },
    ]);
  });

  describe('with a single route', () => {
    sweep({ shapes, surface, second: 'none' }, seed, [
      {
        title: `${titles.stream} that breaks says so in ${titles.failure}, and what was delivered is billed`,
        ...{ check: checkAlone, bytes: 8, oneOf: 12 },
      },
    ]);
  });

  describe('with a single route that falls silent', () => {
    sweep({ shapes: [text, reasoning, tools, json], surface, second: 'none', idleSeconds: 3 }, seed, [
      {
        title: `${titles.stream} says so, too`,
        ...{ check: checkAlone, faults: ['stall'], bytes: 8, oneOf: 6, atOnce: 64 },
      },
    ]);
  });
}

function variantNamed(name: string): SweepShape {
  const shape = Object.values(sweepVariants)
    .flat()
    .find((variant) => variant.name === name);
  if (shape === undefined) throw new Error(`there is no shape ${name}`);
  return shape;
}
