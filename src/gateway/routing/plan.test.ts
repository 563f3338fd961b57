import { describe, expect, it } from 'vitest';
import type { Model } from '../../core/catalog.ts';
import type { Ranking } from '../core/plan.ts';
import {
  type PreparedRequest,
  type PromptCount,
  type PromptCountAsk,
  promptCounting,
  type TokenizerBounds,
} from '../../core/prompt.ts';
import { messageOf } from '../../core/failure.ts';
import { capabilitiesOf } from '../engines/engines.ts';
import { createAffinity } from './affinity.ts';
import { neverSeen, type RoutingView, type StatusAsk } from './health/route-status.ts';
import { checkContext, makePlan, type PlanOptions } from './plan.ts';
import { promptShape } from '../../../test/support/prompt-shape.ts';
import { modelOf, routeOf, snapshotOf } from '../../../test/support/route-of.ts';
import { noTokenizers } from '../../../test/support/uncounted.ts';

const noCount = () => Promise.resolve({ kind: 'unknown', reason: 'tokenizer' } as const);
const asking = (modelName: string, hasImages = false): PreparedRequest => ({
  request: { modelName, tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
  shape: promptShape({ images: hasImages ? 1 : 0, callerImages: hasImages ? 1 : 0 }),
  ...{
    bodyFor: () => '',
    countPrompt: noCount,
    blocksFor: () => ({ digests: [], ends: [], length: 0 }),
    release: () => undefined,
  },
});
const anything: StatusAsk = { stream: false, capabilities: [] };
const heavy = routeOf('heavy', { weight: 75 });
const light = routeOf('light', { weight: 25 });
const idle = routeOf('idle', { weight: 0 });
const on = (model: Model, turn = 0) => ({ snapshot: snapshotOf([model]), capabilitiesOf, turn });
const plan = (model: Model, turn: number): readonly string[] =>
  makePlan(asking(model.id), on(model, turn)).routes.map(({ route }) => route.backend.name);

describe('a plan', () => {
  it.each([
    [0, ['heavy', 'light', 'idle']],
    [0.7499, ['heavy', 'light', 'idle']],
    [0.75, ['light', 'heavy', 'idle']],
    [0.9999, ['light', 'heavy', 'idle']],
  ])('picks the first route by weight at turn %d, the rest follow, heaviest first', (turn, names) => {
    expect(plan(modelOf([idle, light, heavy]), turn)).toEqual(names);
  });

  it('shares the first place as the weights say', () => {
    const model = modelOf([heavy, light, idle]);
    const firsts = Array.from({ length: 1000 }, (_, step) => plan(model, step / 1000)[0]);
    expect(firsts.filter((name) => name === 'heavy')).toHaveLength(750);
    expect(firsts.filter((name) => name === 'light')).toHaveLength(250);
  });

  it('says that a standby is asked because nothing with a weight was left, and that it has no chance before', () => {
    const rankingOf = (out: readonly string[]): Ranking | undefined => {
      let found: Ranking | undefined;
      const health: RoutingView = {
        ...neverSeen,
        status: (route, asked) => ({
          ...neverSeen.status(route, asked),
          ...(out.includes(route.backend.name) && { state: 'unavailable' as const }),
        }),
      };
      const model = modelOf([heavy, light, idle]);
      makePlan(asking(model.id), { ...on(model), health, ranked: (ranking) => (found = ranking) });
      return found;
    };
    const chances = rankingOf([])?.routes.map(({ routeId, chance }) => [routeId, chance > 0]);
    expect(chances).toEqual([
      ['tiny@heavy', true],
      ['tiny@light', true],
      ['tiny@idle', false],
    ]);
    expect([rankingOf([])?.first, rankingOf(['heavy'])?.first]).toEqual(['chance', 'chance']);
    expect(rankingOf(['heavy', 'light'])?.first).toBe('standby');
  });

  it('works with routes of no weight at all', () => {
    expect(plan(modelOf([idle, routeOf('other', { weight: 0 })]), 0.5).toSorted()).toEqual(['idle', 'other']);
  });

  it('is made for the model that an alias names; a key goes by the id', () => {
    const model = modelOf([heavy], { aliases: ['gpt-4o', 'llama3.2:1b'] });
    const allowing = (allowedModels?: readonly string[]) => ({ ...on(model), allowedModels });
    for (const name of ['demo/tiny', 'gpt-4o', 'llama3.2:1b']) {
      expect(makePlan(asking(name), allowing()).model.id).toBe('demo/tiny');
      expect(makePlan(asking(name), allowing(['demo/*'])).model.id).toBe('demo/tiny');
      const refused = expect.objectContaining({ code: 'model_not_found' }) as Error;
      expect(() => makePlan(asking(name), allowing(['other/tiny', 'gpt-4o/*']))).toThrow(refused);
    }
  });

  it('says which name is not there, and which ones are near, of those that the caller may see', () => {
    const models = ['demo/tiny', 'demo/tinny', 'demo/tina', 'other/tiny'].map((id) => modelOf([heavy], { id }));
    const messageFor = (name: string, options: Partial<PlanOptions> = {}): string => {
      try {
        makePlan(asking(name), { snapshot: snapshotOf(models), capabilitiesOf, turn: 0, ...options });
        return 'planned';
      } catch (error) {
        return messageOf(error);
      }
    };
    expect(messageFor('demo/tiny')).toBe('planned');
    expect(messageFor('demo/tinyy')).toBe(
      'model: "demo/tinyy" is not in the catalog. Did you mean demo/tiny or demo/tinny or other/tiny? GET /v1/models lists the models.',
    );
    expect(messageFor('demo/tinyy', { allowedModels: ['demo/tinny', 'demo/tina'] })).toBe(
      'model: "demo/tinyy" is not in the catalog. Did you mean demo/tinny or demo/tina? GET /v1/models lists what this key may call.',
    );
    expect(messageFor('demo/tinyy', { isListed: ({ id }) => id === 'demo/tinny' })).toContain('mean demo/tinny?');
    expect(messageFor('demo/tiny', { allowedModels: ['qwen/*'] })).toBe(
      'model: "demo/tiny" is not in the catalog. GET /v1/models lists what this key may call.',
    );
    expect(messageFor('a"\n\u{7}'.padEnd(200, 'b'))).toMatch(
      /^model: "a\\"\\n\\u0007b{124}…" is not in the catalog\. GET/,
    );
  });

  it.each([
    ['a suffix that is no part of a name', asking('demo/tiny:1b'), modelOf([heavy]), 'variant_not_supported'],
    ['a model that is not there', asking('demo/other'), modelOf([heavy]), 'model_not_found'],
    ['images for a model of text', asking('demo/tiny', true), modelOf([heavy]), 'modality_not_supported'],
    ['a model without routes', asking('demo/tiny'), modelOf([]), 'no_capacity'],
    ['images and no routes: the request first', asking('demo/tiny', true), modelOf([]), 'modality_not_supported'],
  ])('is refused for %s', (_, prepared, model, code) => {
    expect(() => makePlan(prepared, on(model))).toThrow(expect.objectContaining({ code }) as Error);
  });

  it.each([
    ['nothing that is left', 'unavailable', {}, 'no_capacity'],
    [
      'what no route can do, before any is looked at',
      'unavailable',
      { sampling: { top_logprobs: 3 } },
      'param_not_supported',
    ],
  ] as const)('is refused for %s', (_, state, asked, code) => {
    const prepared = { ...asking('demo/tiny'), request: { ...asking('demo/tiny').request, ...asked } };
    const able = { ...capabilitiesOf(heavy), parameters: [] };
    const health = { ...neverSeen, status: () => ({ ...neverSeen.status(heavy, anything), state }) };
    const options = { ...on(modelOf([heavy, light])), health, capabilitiesOf: () => able };
    expect(() => makePlan(prepared, options)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('asks how routes do in what the request needs', () => {
    const asks: StatusAsk[] = [];
    const health: RoutingView = {
      ...neverSeen,
      status: (route, ask) => {
        asks.push(ask);
        return neverSeen.status(route, ask);
      },
    };
    const { request, ...rest } = asking('demo/tiny');
    const tools = [{ name: 'f' }];
    const responseFormat = { type: 'json_object' } as const;
    for (const more of [{ tools, stream: true }, { responseFormat }, { tools, toolChoice: 'none' } as const]) {
      makePlan({ ...rest, request: { ...request, ...more } }, { ...on(modelOf([heavy])), health });
    }
    expect(asks).toEqual([
      { stream: true, capabilities: ['tools'] },
      { stream: false, capabilities: ['json_object'] },
      { stream: false, capabilities: [] },
    ]);
  });

  it('keeps a conversation on one route, whichever route’s turn it is, and names it', () => {
    const affinityOf = createAffinity(() => 's');
    const prepared = asking('demo/tiny');
    const first = (conversation: number | undefined, turn: number) => {
      const shaped = { ...prepared, shape: { ...prepared.shape, conversation } };
      const { routes, affinity } = makePlan(shaped, { ...on(modelOf([heavy, light]), turn), affinityOf });
      expect(affinity).toBe(affinityOf(conversation));
      return routes[0].route;
    };
    const firsts = Array.from({ length: 100 }, (_, conversation) => {
      const route = first(conversation, 0);
      expect(first(conversation, 0.999)).toBe(route);
      return route;
    });
    expect(new Set(firsts)).toEqual(new Set([heavy, light]));
    expect(first(undefined, 0)).not.toBe(first(undefined, 0.999));
  });

  it('takes images where the model does', () => {
    const model = modelOf([heavy], { inputModalities: ['text', 'image'] });
    expect(makePlan(asking('demo/tiny', true), on(model)).routes).toMatchObject([{ route: heavy }]);
  });
});

const bounds: TokenizerBounds = {
  ...{ tokensPerByte: 1, tokensPerAsciiByte: 1, maxTokenBytes: 10 },
  template: { base: 5, perMessage: 5 },
};

interface Row {
  readonly bodyBytes?: number;
  readonly cap?: number;
  readonly images?: number;
  readonly tokenizer?: { readonly path: string; readonly tokensPerImage?: number } | 'none';
  readonly known?: boolean;
  readonly count?: PromptCount;
}

/** What becomes of a request on a model with a window of 100 tokens, and what was counted for it. */
async function check({ bodyBytes = 10, cap, images = 0, tokenizer = { path: 't' }, known = true, count }: Row) {
  const asks: PromptCountAsk[] = [];
  const prepared: PreparedRequest = {
    request: {
      ...{ modelName: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
      maxOutputTokens: cap,
    },
    shape: promptShape({ bodyBytes, images, callerImages: images }),
    bodyFor: () => '',
    countPrompt: (ask) => {
      asks.push(ask);
      return Promise.resolve(count ?? { kind: 'unknown', reason: 'tokenizer' });
    },
    blocksFor: () => ({ digests: [], ends: [], length: 0 }),
    release: () => undefined,
  };
  const model = modelOf([], { contextLength: 100, ...(tokenizer === 'none' ? {} : { tokenizer }) });
  const tokenizers = { ...noTokenizers, boundsOf: () => (known ? bounds : undefined) };
  const result = await checkContext(prepared, {
    model,
    tokenizers,
    counting: promptCounting(model, { templateArguments: { enable_thinking: true }, form: undefined }),
  }).then(
    () => 'fits',
    (failure: { readonly code: string }) => failure.code,
  );
  return { result, asks };
}

const tooLong = 'context_length_exceeded';

describe('whether a prompt fits', () => {
  it.each<readonly [string, Row, string, number | undefined]>([
    ['a small one fits, uncounted', {}, 'fits', undefined],
    [
      'one whose size could be too much is counted',
      { bodyBytes: 100, count: { kind: 'within', atMost: 90 } },
      'fits',
      99,
    ],
    ['counted and too long', { bodyBytes: 200, count: { kind: 'over', atLeast: 120 } }, tooLong, 99],
    ['the cap takes its part', { bodyBytes: 60, cap: 50, count: { kind: 'over', atLeast: 51 } }, tooLong, 50],
    ['a cap larger than the window', { cap: 100 }, tooLong, undefined],
    ['a cap larger than the window, without a tokenizer', { cap: 101, tokenizer: 'none' }, tooLong, undefined],
    ['without a tokenizer the engine decides', { bodyBytes: 1000, tokenizer: 'none' }, 'fits', undefined],
    ['one that cannot be counted is the engine’s', { bodyBytes: 1000 }, 'fits', 99],
    [
      'a tokenizer that is still being loaded counts',
      { known: false, count: { kind: 'over', atLeast: 120 } },
      tooLong,
      99,
    ],
    ['images of unknown cost are counted', { images: 1, count: { kind: 'counted', tokens: 3 } }, 'fits', 99],
    ['images of known cost are not', { images: 1, tokenizer: { path: 't', tokensPerImage: 10 } }, 'fits', undefined],
    [
      'images of known cost, too many',
      { images: 9, tokenizer: { path: 't', tokensPerImage: 10 }, count: { kind: 'over', atLeast: 100 } },
      tooLong,
      99,
    ],
  ])('%s', async (_, row, result, limit) => {
    const checked = await check(row);
    expect(checked.result).toBe(result);
    expect(checked.asks.map((ask) => ask.limit)).toEqual(limit === undefined ? [] : [limit]);
    for (const ask of checked.asks) {
      expect(ask).toMatchObject({ want: 'fit', tokenizerPath: 't', templateArguments: { enable_thinking: true } });
    }
  });
});
