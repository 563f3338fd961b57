import { expect, test } from 'vitest';
import { renamedLines } from './catalog-place.ts';
import { catalogIdOf, catalogNames } from './upstream-manifests.ts';
import { readModelList } from '../../core/model-list.ts';

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

const namesOf = (...upstream: readonly string[]) =>
  catalogNames(readModelList({ data: upstream.map((id) => ({ id })) }) ?? []);

test.each<readonly [string, readonly string[], readonly (string | undefined)[]]>([
  ['what has another id here', ['gpt-4o', 'Llama3.2:1B'], ['gpt-4o', 'llama3.2:1b']],
  ['nothing where the id is the name', ['Qwen/Qwen3-8B', 'qwen/qwen3-14b'], [undefined, undefined]],
  ['the first of two that differ in capitals', ['Tiny', 'tiny'], ['tiny', undefined]],
  ['nothing that is the id of another model', ['gpt-4o', 'local/gpt-4o', 'gpt 4o'], ['gpt-4o', undefined, undefined]],
  ['no variant and no path of a file', ['tiny:free', '/models/tiny.gguf', '模型'], [undefined, undefined, undefined]],
])('an alias is %s', (_, upstream, aliases) => {
  expect(namesOf(...upstream).map(({ alias }) => alias)).toEqual(aliases);
});

test('what has another name here is said, of eight models at most', () => {
  expect(renamedLines(namesOf('gpt-4o', 'Qwen/Qwen3-8B', '/models/Tiny.gguf'), 'models.yaml')).toEqual([
    '"gpt-4o" is called local/gpt-4o here; requests may name it gpt-4o, too.',
    '"/models/Tiny.gguf" is called local/tiny here.',
  ]);
  const many = renamedLines(namesOf(...Array.from({ length: 20 }, (_, at) => `m${at}`)), 'models.yaml');
  expect(many).toHaveLength(9);
  expect(many.at(-1)).toBe('12 more model(s) have other names here: models.yaml');
});
