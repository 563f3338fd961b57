import { describe, expect, it } from 'vitest';
import { backend, model } from '../../../test/support/catalog-objects.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { Snapshot } from '../../core/catalog.ts';
import type { ModelStatus } from '../../core/observed-catalog.ts';
import { compile } from './compile.ts';
import { createModelList } from './list.ts';

const { snapshot } = compile([
  backend('vllm-a'),
  model('z', { id: 'z/z', inputModalities: ['text', 'image'] }),
  model('m'),
]);

const qwen = {
  id: 'qwen/qwen3-8b',
  object: 'model',
  owned_by: 'qwen',
  created: 1_700_000_000,
  added: 1_780_272_000,
  context_length: 131_072,
  input_modalities: ['text'],
  pricing: { prompt: '0.00000015', completion: '0.0000006', input_cache_read: '0.00000003' },
};

type Statuses = Readonly<Record<string, ModelStatus>>;

function begin(statuses: Statuses = {}, first: Snapshot = snapshot) {
  const clock = createFakeClock();
  const state = { statuses, snapshot: first, asked: 0 };
  const { modelList, modelEntry } = createModelList({
    clock,
    snapshot: () => state.snapshot,
    statusOf: ({ id }) => {
      state.asked += 1;
      return state.statuses[id] ?? { listed: true };
    },
  });
  const list = (models?: readonly string[]): string => modelList(models);
  const ids = (models?: readonly string[]): readonly string[] =>
    (JSON.parse(list(models)) as { data: readonly { id: string }[] }).data.map(({ id }) => id);
  return { clock, state, list, ids, modelEntry };
}

describe('the model list', () => {
  it('has every model by id with exactly the fields of the contract', () => {
    expect(JSON.parse(begin().list())).toEqual({
      object: 'list',
      data: [qwen, { ...qwen, id: 'z/z', input_modalities: ['text', 'image'] }],
    });
  });

  it('names the kind of a model that is none of chat, and the lengths of its vectors', () => {
    const kinds = compile([
      backend('vllm-a'),
      model('a', {
        id: 'a/a',
        kind: 'Embedding',
        embedding: { dimensions: 1024, shorterDimensions: [256] },
        pricing: { prompt: '0.00000015' },
      }),
      model('b', { id: 'b/b', kind: 'Embedding', embedding: { dimensions: 8 } }),
      model('m'),
    ]);
    const pricing = { ...qwen.pricing, completion: '0', input_cache_read: '0.00000015' };
    expect(JSON.parse(begin({}, kinds.snapshot).list())).toEqual({
      object: 'list',
      data: [
        { ...qwen, id: 'a/a', kind: 'embedding', dimensions: 1024, shorter_dimensions: [256], pricing },
        { ...qwen, id: 'b/b', kind: 'embedding', dimensions: 8 },
        qwen,
      ],
    });
  });

  it('names no backend, engine or upstream model', () => {
    expect(begin().list()).not.toMatch(/vllm|Qwen\/|models\.svc|backend|route/);
  });

  it('shows performance where there is a figure, and no time to first token where none was measured', () => {
    const { list } = begin({
      'qwen/qwen3-8b': {
        listed: true,
        availability: 0.9,
        figure: { tokensPerSecondP50: 81.468, firstTokenMsP50: 240.4, asOf: 1_780_000_000 },
      },
      'z/z': { listed: true, figure: { tokensPerSecondP50: 3.04, asOf: 1_780_000_001 } },
    });
    expect(JSON.parse(list())).toEqual({
      object: 'list',
      data: [
        { ...qwen, performance: { tps_p50: 81.5, ttft_p50_ms: 240, as_of: 1_780_000_000 } },
        {
          ...{ ...qwen, id: 'z/z', input_modalities: ['text', 'image'] },
          performance: { tps_p50: 3, as_of: 1_780_000_001 },
        },
      ],
    });
  });

  it('has only models that are listed', () => {
    const not = { listed: false, figure: { tokensPerSecondP50: 3, asOf: 1 } };
    expect(begin({ 'qwen/qwen3-8b': not }).ids()).toEqual(['z/z']);
    expect(begin({ 'z/z': not }).ids()).toEqual(['qwen/qwen3-8b']);
    expect(begin({ 'z/z': not, 'qwen/qwen3-8b': not }).list()).toBe('{"object":"list","data":[]}');
  });

  it('has only what a key may call for a key with models, by the same rules', () => {
    const { state, ids, list, clock } = begin();
    expect(ids(['qwen/*'])).toEqual(['qwen/qwen3-8b']);
    expect(ids(['z/z', 'gone/model'])).toEqual(['z/z']);
    expect(ids(['z/z', 'qwen/*'])).toEqual(['qwen/qwen3-8b', 'z/z']);
    expect(JSON.parse(list(['qwen/*']))).toEqual({ object: 'list', data: [qwen] });
    expect(list([])).toBe('{"object":"list","data":[]}');
    expect(ids()).toEqual(['qwen/qwen3-8b', 'z/z']);
    state.statuses = { 'z/z': { listed: false } };
    clock.advance(1000);
    expect(ids(['z/z'])).toEqual([]);
  });

  it('has the same entry for one model, under the same conditions', () => {
    const { state, list, modelEntry, clock } = begin({
      'z/z': { listed: true, figure: { tokensPerSecondP50: 3.04, asOf: 1_780_000_001 } },
    });
    const [first, last] = [modelEntry('qwen/qwen3-8b', undefined), modelEntry('z/z', ['z/*'])];
    expect(list()).toBe(`{"object":"list","data":[${first},${last}]}`);
    expect([modelEntry('z/z', ['qwen/*']), modelEntry('gone/model', undefined)]).toEqual([undefined, undefined]);
    state.statuses = { 'z/z': { listed: false } };
    clock.advance(1000);
    expect(modelEntry('z/z', undefined)).toBeUndefined();
  });

  it('is an empty list without models', () => {
    expect(begin({}, compile([]).snapshot).list()).toBe('{"object":"list","data":[]}');
  });

  it('has no model without prices, because no snapshot has', () => {
    const unpriced = model('m', { pricing: {} });
    expect(begin({}, compile([backend('vllm-a'), unpriced]).snapshot).ids()).toEqual([]);
  });

  it('is put together once a second at most, however often it is asked for, and never of itself', () => {
    const { clock, state, list } = begin();
    for (let ms = 0; ms < 10_000; ms += 1) {
      for (let flood = 0; flood < 20; flood += 1) list();
      clock.advance(1);
    }
    expect(state.asked).toBe(10 * 2);
    clock.advance(60_000);
    expect([state.asked, clock.armed()]).toEqual([20, 0]);
  });

  it('shows what has changed within a second, and a change of the catalog at once', () => {
    const { clock, state, ids } = begin();
    expect(ids()).toEqual(['qwen/qwen3-8b', 'z/z']);
    state.statuses = { 'z/z': { listed: false } };
    clock.advance(999);
    expect(ids()).toEqual(['qwen/qwen3-8b', 'z/z']);
    clock.advance(1);
    expect(ids()).toEqual(['qwen/qwen3-8b']);
    state.snapshot = compile([backend('vllm-a'), model('n', { id: 'n/n' })]).snapshot;
    expect(ids()).toEqual(['n/n']);
  });
});
