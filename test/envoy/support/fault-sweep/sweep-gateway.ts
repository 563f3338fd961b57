import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { expect } from 'vitest';
import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { EngineModelInput } from '../../../programmable-engine/engine-model.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../../../programmable-engine/engine.ts';
import { figuresOf } from '../process-figures.ts';
import { roomyKey } from '../../../support/roomy-key.ts';
import { startWeir, type Weir } from '../../../support/weir.ts';
import { writeEngineTokenizer } from './engine-tokenizer.ts';
import { createSweepCatalog, type SweepCatalog, upstreamModel } from './sweep-catalog.ts';
import { type SweepReference, referenceOf } from './sweep-reference.ts';
import type { SweepShape } from './sweep-shapes.ts';
import { putTogether } from '../put-together.ts';
import { untilHolds } from '../../../support/until-holds.ts';

/** One request of the sweep. */
export interface SweepAsk {
  readonly shape: SweepShape;
  readonly model: string;
  readonly directive?: BehaviourInput;
  /** Correlates with the ledger. */
  readonly id?: string;
}

/** A gateway over an engine that breaks when told to and a spare one. */
export interface SweepGateway extends Pick<SweepCatalog, 'takeModel'> {
  readonly weir: Weir;
  readonly broken: ProgrammableEngine;
  readonly spare: ProgrammableEngine;
  /** Puts new models in the catalog, so that each shape can be broken so many times; resolves when they are served. */
  readonly renew: (faults: ReadonlyMap<SweepShape, number>) => Promise<void>;
  readonly bodyOf: (ask: SweepAsk) => Readonly<Record<string, unknown>>;
  readonly ask: (ask: SweepAsk) => Promise<{ readonly status: number; readonly body: string }>;
  /** The unbroken answer. */
  readonly reference: (shape: SweepShape) => Promise<SweepReference>;
  /** Resolves when nothing of any request is left anywhere; rejects when something is. */
  readonly expectNothingLeft: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** First answers, which make what is made once: connections, compiled code. */
const warming = 48;

/** Connections that the checks themselves hold open: they ask for metrics. */
const ownDescriptors = 4;

/** The body of a request. */
function bodyOf({ shape, model, directive }: SweepAsk): Readonly<Record<string, unknown>> {
  const content = `Go on.${directive === undefined ? '' : ` [[demo ${JSON.stringify(directive)}]]`}`;
  return {
    ...{ model, ...shape.fields, stream: true, stream_options: { include_usage: true } },
    messages: [{ role: 'user', content }],
  };
}

/** Starts one for answers of these shapes. */
export async function startSweepGateway(shapes: readonly SweepShape[]): Promise<SweepGateway> {
  const models = (own: (shape: SweepShape) => BehaviourInput): readonly EngineModelInput[] =>
    shapes.map((shape) => ({ id: upstreamModel(shape), behaviour: { ...shape.behaviour, ...own(shape) } }));
  const broken = await startProgrammableEngine({ name: 'broken', models: models(() => ({})) });
  const spare = await startProgrammableEngine({ name: 'spare', models: models((shape) => shape.spare ?? {}) });
  const catalog = createSweepCatalog({ shapes, engines: [broken, spare] });
  const tokenizers = mkdtempSync(join(tmpdir(), 'weir-tokenizers-'));
  writeEngineTokenizer(tokenizers, 'demo');
  const weir = await startWeir({
    engines: [broken, spare],
    manifests: { 'catalog.yaml': catalog.renewed(new Map()) },
    env: { WEIR_TOKENIZERS: tokenizers, WEIR_IDLE_SECONDS: '60' },
  });
  const key = await roomyKey(weir);
  // A client library's stream would cost more than the gateway's.
  const pool = new Pool(weir.origin, { connections: null, bodyTimeout: 0, headersTimeout: 0 });
  const texts: string[] = [];
  weir.watch(() => texts.join('\n'));

  const ask = async (asked: SweepAsk): Promise<{ readonly status: number; readonly body: string }> => {
    const { statusCode: status, body } = await pool.request({
      ...{ method: 'POST', path: '/v1/chat/completions', body: JSON.stringify(bodyOf(asked)) },
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(asked.id === undefined ? {} : { 'x-request-id': asked.id }),
      },
    });
    const text = await body.text();
    texts.push(text);
    return { status, body: text };
  };
  const askSound = (shape: SweepShape): ReturnType<typeof ask> => ask({ shape, model: catalog.soundModel(shape) });
  const askEngine = async (body: unknown): Promise<string> =>
    (await fetch(`${broken.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })).text();

  const warm = Array.from({ length: Math.ceil(warming / shapes.length) }, () => shapes).flat();
  for (const { status } of await Promise.all(warm.map(askSound))) expect(status).toBe(200);
  const descriptors = (): number => figuresOf(weir.pid('service')).descriptors;
  const before = descriptors() + ownDescriptors;

  return {
    ...{ weir: { ...weir, key }, broken, spare, bodyOf, ask, takeModel: catalog.takeModel },
    renew: async (faults) => {
      writeFileSync(join(weir.manifests, 'catalog.yaml'), catalog.renewed(faults));
      await untilHolds(async () => {
        for (const shape of shapes) expect((await askSound(shape)).status).toBe(200);
      });
    },
    reference: async (shape) => {
      broken.reset();
      const { body } = await askSound(shape);
      const asked: unknown = broken.requests().at(-1)?.body;
      return referenceOf(shape, { answer: putTogether(body), engine: await askEngine(asked) });
    },
    expectNothingLeft: async () => {
      await weir.settled();
      await expect.poll(() => weir.metric('weir_ext_proc_streams')).toBe(0);
      await expect.poll(() => [broken.openRequests(), spare.openRequests()]).toEqual([0, 0]);
      await expect.poll(weir.activeUpstream).toEqual([]);
      await expect.poll(descriptors).toBeLessThanOrEqual(before);
    },
    close: async () => {
      await pool.close();
      await weir.close();
      await Promise.all([broken.close(), spare.close()]);
      rmSync(tokenizers, { recursive: true });
    },
  };
}
