import { promptShape } from '../../test/support/prompt-shape.ts';
import { describe, expect, it } from 'vitest';
import { modelOf, routeOf, snapshotOf } from '../../test/support/route-of.ts';
import type { Model } from '../core/catalog.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import { capabilitiesOf } from '../engines/engines.ts';
import { createAffinity } from './affinity.ts';
import { makePlan } from './plan.ts';
import { neverSeen, type RoutingView, type StandingAsk } from './standing.ts';

const noCount = () => Promise.resolve({ kind: 'unknown', reason: 'tokenizer' } as const);
const asking = (modelId: string, hasImages = false): PreparedRequest => ({
  request: { modelId, tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
  shape: promptShape({ images: hasImages ? 1 : 0, callerImages: hasImages ? 1 : 0 }),
  ...{ bodyFor: () => '', countPrompt: noCount, release: () => undefined },
});
const anything: StandingAsk = { stream: false, capabilities: [] };
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

  it('works with routes of no weight at all', () => {
    expect(plan(modelOf([idle, routeOf('other', { weight: 0 })]), 0.5).toSorted()).toEqual(['idle', 'other']);
  });

  it.each([
    ['a model that is not there', asking('demo/other'), modelOf([heavy]), 'model_not_found'],
    ['images for a model of text', asking('demo/tiny', true), modelOf([heavy]), 'modality_not_supported'],
    ['a model without routes', asking('demo/tiny'), modelOf([]), 'no_capacity'],
    ['images and no routes: the request first', asking('demo/tiny', true), modelOf([]), 'modality_not_supported'],
  ])('is refused for %s', (_, prepared, model, code) => {
    expect(() => makePlan(prepared, on(model))).toThrow(expect.objectContaining({ code }) as Error);
  });

  it.each([
    ['nothing that is left', 'out', {}, 'no_capacity'],
    ['what no route can do, before any is looked at', 'out', { sampling: { top_logprobs: 3 } }, 'param_not_supported'],
  ] as const)('is refused for %s', (_, state, asked, code) => {
    const prepared = { ...asking('demo/tiny'), request: { ...asking('demo/tiny').request, ...asked } };
    const able = { ...capabilitiesOf(heavy), parameters: [] };
    const health = { ...neverSeen, standing: () => ({ ...neverSeen.standing(heavy, anything), state }) };
    const options = { ...on(modelOf([heavy, light])), health, capabilitiesOf: () => able };
    expect(() => makePlan(prepared, options)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('asks how routes do in what the request needs', () => {
    const asks: StandingAsk[] = [];
    const health: RoutingView = {
      ...neverSeen,
      standing: (route, ask) => {
        asks.push(ask);
        return neverSeen.standing(route, ask);
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

  it('prefers the route that served the prompt’s beginning, and names that for Envoy', () => {
    const affinity = createAffinity({ secret: 's' });
    const prepared = asking('demo/tiny');
    const shaped = { ...prepared, shape: { ...prepared.shape, prefixes: [1, 2] } };
    const options = { ...on(modelOf([heavy, light])), affinity };
    expect(makePlan(shaped, options).routes[0].route).toBe(heavy);
    affinity.served([1, 2], light);
    expect(makePlan(shaped, options)).toMatchObject({ affinity: affinity.digest([1]), routes: [{ route: light }, {}] });
    expect(makePlan(prepared, options)).not.toHaveProperty('affinity');
  });

  it('takes images where the model does', () => {
    const model = modelOf([heavy], { inputModalities: ['text', 'image'] });
    expect(makePlan(asking('demo/tiny', true), on(model)).routes).toMatchObject([{ route: heavy }]);
  });
});
