import { describe, expect, it } from 'vitest';
import { nearNames } from './near-names.ts';

const names = ['openai/gpt-4o', 'openai/gpt-4o-mini', 'qwen/qwen3-14b', 'qwen/qwen3-8b', 'demo/chat', 'demo/mini'];

describe('near names', () => {
  it.each<readonly [string, string, readonly string[]]>([
    ['a letter that is wrong', 'demo/chst', ['demo/chat']],
    ['a letter that is missing', 'qwen/qwen3-8', ['qwen/qwen3-8b', 'qwen/qwen3-14b']],
    ['no organisation', 'gpt-4o', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
    ['another organisation', 'azure/gpt-4o', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
    ['a name cut short', 'qwen3', ['qwen/qwen3-14b', 'qwen/qwen3-8b']],
    ['a tag behind it', 'qwen3-8b-q4', ['qwen/qwen3-8b']],
    ['something else', 'mistral/large', []],
    ['a short name', 'ab', []],
    ['nothing', '', []],
    ['a name longer than any id', 'demo/chat'.padEnd(129, 't'), []],
  ])('of %s', (_, wanted, near) => {
    expect(nearNames(wanted, names)).toEqual(near);
  });

  it('are three at most', () => {
    expect(
      nearNames(
        'a/name',
        Array.from({ length: 50 }, (_, at) => `a/name${at % 10}${at}`),
      ),
    ).toHaveLength(3);
  });

  it('are looked for among ten thousand at most', () => {
    let asked = 0;
    function* endless(): Generator<string> {
      for (;;) yield `org/name-${(asked += 1)}`;
    }
    expect(nearNames('org/name-2', endless())).toContain('org/name-2');
    expect(asked).toBe(10_000);
  });
});
