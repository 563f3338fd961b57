import { describe, expect, it } from 'vitest';
import { modelOf, routeOf, snapshotOf } from '../../test/support/route-of.ts';
import type { Model } from '../core/catalog.ts';
import type { PreparedRequest } from '../core/prepared.ts';
import { capabilitiesOf } from '../dialects/engines/engines.ts';
import { makePlan } from './plan.ts';

const noCount = () => Promise.resolve({ kind: 'unknown', reason: 'tokenizer' } as const);
const asking = (modelId: string, hasImages = false): PreparedRequest => ({
  request: { modelId, tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
  shape: { bodyBytes: 0, isAscii: true, messages: 1, tools: 0, toolCalls: 0, images: hasImages ? 1 : 0 },
  ...{ bodyFor: () => '', countPrompt: noCount, release: () => undefined },
});
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

  it('takes images where the model does', () => {
    const model = modelOf([heavy], { inputModalities: ['text', 'image'] });
    expect(makePlan(asking('demo/tiny', true), on(model)).routes).toMatchObject([{ route: heavy }]);
  });
});
