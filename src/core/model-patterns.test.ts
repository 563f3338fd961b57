import { expect, it } from 'vitest';
import { allowsModel, readModelPatterns } from './model-patterns.ts';

it.each([
  ['qwen/qwen3-8b', ['qwen/qwen3-8b']],
  ['qwen/*', ['qwen/*']],
  [' Qwen/* , ACME/a.b_c-1,qwen/*', ['acme/a.b_c-1', 'qwen/*']],
])('%j is read as %j', (text, patterns) => {
  expect(readModelPatterns(text)).toEqual({ patterns });
});

it.each([
  '',
  ',',
  'qwen',
  '*',
  '*/*',
  '*/a',
  'qwen/',
  'qwen/*3',
  'qwen/q*',
  'a/b/c',
  'a/b c',
  'a/b,',
  `a/${'x'.repeat(200)}`,
])('%j is refused with what was expected', (text) => {
  expect(readModelPatterns(text)).toEqual({
    problem: expect.stringMatching(/^".*" is neither a model such as org\/model nor org\/\*\.$/) as string,
  });
});

it('refuses more patterns than are compared with each request', () => {
  const named = (count: number) => Array.from({ length: count }, (_, number) => `a/m${number}`).join(',');
  expect(readModelPatterns(named(100))).toHaveProperty('patterns.length', 100);
  expect(readModelPatterns(named(101))).toEqual({ problem: 'It may name at most 100 models.' });
});

it.each([
  [undefined, 'qwen/qwen3-8b', true],
  [['qwen/*'], 'qwen/qwen3-8b', true],
  [['acme/a', 'qwen/qwen3-8b'], 'qwen/qwen3-8b', true],
  [['qwen/qwen3'], 'qwen/qwen3-8b', false],
  [['qwen/*'], 'qwenx/a', false],
  [['qwen/*'], 'qwen', false],
  [['qwen/*'], '', false],
  [['a/*'], 'b/*', false],
  [[], 'qwen/qwen3-8b', false],
] as const)('%j with %j: %j', (patterns, modelId, allowed) => {
  expect(allowsModel(patterns, modelId)).toBe(allowed);
});
