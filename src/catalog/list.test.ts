import { expect, test } from 'vitest';
import { backend, model } from '../../test/support/catalog-objects.ts';
import { compile } from './compile.ts';
import { renderModelList } from './list.ts';

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

test('lists every model by id with exactly the fields of the contract', () => {
  expect(JSON.parse(renderModelList(snapshot))).toEqual({
    object: 'list',
    data: [qwen, { ...qwen, id: 'z/z', input_modalities: ['text', 'image'] }],
  });
});

test('names no backend, engine or upstream model', () => {
  expect(renderModelList(snapshot)).not.toMatch(/vllm|Qwen\/|models\.svc|backend|route/);
});

test('shows performance where there is a figure, and no time to first token when nobody measured it', () => {
  const figures = new Map([
    ['qwen/qwen3-8b', { tokensPerSecondP50: 81.5, firstTokenMsP50: 240, asOf: 1_780_000_000 }],
    ['z/z', { tokensPerSecondP50: 3, asOf: 1_780_000_001 }],
  ]);
  const { data } = JSON.parse(renderModelList(snapshot, figures)) as { data: readonly { performance: unknown }[] };
  expect(data.map(({ performance }) => performance)).toEqual([
    { tps_p50: 81.5, ttft_p50_ms: 240, as_of: 1_780_000_000 },
    { tps_p50: 3, as_of: 1_780_000_001 },
  ]);
});

test('is an empty list without models', () => {
  expect(renderModelList(compile([]).snapshot)).toBe('{"object":"list","data":[]}');
});
