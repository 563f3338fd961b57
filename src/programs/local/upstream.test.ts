import { expect, test } from 'vitest';
import { readModelList } from '../../core/model-list.ts';
import { contextLengthOf, guessEngine } from './upstream.ts';

const lists = {
  llamacpp: {
    models: [{ name: 'x' }],
    object: 'list',
    data: [{ id: '/m/x.gguf', created: 1, owned_by: 'llamacpp', meta: { n_vocab: 9, n_ctx_train: 4096, size: 1 } }],
  },
  vllm: { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', owned_by: 'vllm', max_model_len: 40_960, permission: [{}] }] },
  sglang: { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', owned_by: 'sglang', max_model_len: 32_768 }] },
  ollama: { object: 'list', data: [{ id: 'llama3.2:1b', created: 1_700_000_000, owned_by: 'library' }] },
  openai: { object: 'list', data: [{ id: 'gpt-x', created: 1_700_000_000, owned_by: 'system' }] },
} as const;

test.each(Object.entries(lists))('a list of %s is recognised', (engine, list) => {
  expect(guessEngine('127.0.0.1', readModelList(list) ?? [])).toBe(engine);
});

test.each([
  ['api.deepseek.com', 'deepseek'],
  ['dashscope-intl.aliyuncs.com', 'dashscope'],
  ['api.moonshot.ai', 'moonshot'],
  ['api.z.ai', 'zai'],
  ['api.fireworks.ai', 'fireworks'],
  ['api.together.xyz', 'together'],
  ['notdeepseek.com', 'openai'],
])('the host %s means %s', (host, engine) => {
  expect(guessEngine(host, readModelList(lists.openai) ?? [])).toBe(engine);
});

test.each([
  [{ max_model_len: 7, context_length: 9 }, 7],
  [{ meta: { n_ctx: 8, n_ctx_train: 9 } }, 8],
  [{ context_length: 9, meta: { n_ctx_train: 10 } }, 9],
  [{ meta: { n_ctx_train: 10 } }, 10],
  [{}, 131_072],
  [{ max_model_len: 'many', context_length: 0 }, 131_072],
])('the window of %j is %i', (fields, window) => {
  const [entry] = readModelList({ data: [{ id: 'm', ...fields }] }) ?? [];
  expect(entry && contextLengthOf(entry)).toBe(window);
});

test('a bare array is a list, and entries without an id are left out', () => {
  expect(readModelList([{ id: 'a' }, { name: 'b' }, null])?.map(({ id }) => id)).toEqual(['a']);
});

test.each([[{}], [{ data: 'x' }], ['x'], [null]])('%j is no model list', (json) => {
  expect(readModelList(json)).toBeUndefined();
});
