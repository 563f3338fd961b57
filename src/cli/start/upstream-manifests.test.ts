import { expect, test } from 'vitest';
import { catalogIdOf } from './upstream-manifests.ts';

test.each([
  ['Qwen/Qwen3-8B', 'qwen/qwen3-8b'],
  ['llama3.2:1b', 'local/llama3.2-1b'],
  ['hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M', 'bartowski/llama-3.2-1b-instruct-gguf-q4_k_m'],
  ['accounts/fireworks/models/qwen3-30b', 'fireworks/qwen3-30b'],
  ['/models/tiny.Q4.gguf', 'local/tiny.q4'],
  ['./models/Tiny Model.gguf', 'local/tiny-model'],
  ['C:\\models\\tiny.gguf', 'local/tiny'],
  ['models/tiny.gguf', 'local/tiny'],
  ['a/b/c', 'a/b-c'],
  ['模型', 'local/model'],
  ['_x_/-y-', 'x/y'],
])('%s is called %s', (upstream, id) => {
  expect(catalogIdOf(upstream, new Set())).toBe(id);
});

test('a second model of the same id gets a number', () => {
  expect(catalogIdOf('Org/A:B', new Set(['org/a-b', 'org/a-b-2']))).toBe('org/a-b-3');
});

test('a name of any length stays within what the catalog allows', () => {
  const id = catalogIdOf(`${'o'.repeat(500)}/${'m'.repeat(500)}`, new Set());
  expect(id.length).toBeLessThanOrEqual(128);
  expect(id).toMatch(/^[a-z0-9][a-z0-9._-]*\/[a-z0-9][a-z0-9._-]*$/);
});
