import { describe, expect, it } from 'vitest';
import type { RoundOutput } from './collect-round.ts';
import { type Allowance, nextStep } from './next-step.ts';

const call = (query: unknown = 'q') => ({ arguments: JSON.stringify({ query }) });
const said = (more: Partial<RoundOutput> = {}): RoundOutput => ({
  ...{ text: '', reasoning: '', searches: [call()], callsCaller: false, finish: { reason: 'tool_calls' } },
  ...more,
});
const plenty: Allowance = { searches: 5, rounds: 5, output: undefined };
const step = (saying: RoundOutput, left: Partial<Allowance> = {}) => nextStep(saying, { ...plenty, ...left });

describe('what follows a round', () => {
  it('without searches is the end, with its stop sequence', () => {
    const finish = { reason: 'stop', stopSequence: 'END' } as const;
    expect(step(said({ searches: [], finish }))).toEqual({ kind: 'finish', finish });
  });

  it.each(['length', 'content_filter'] as const)('that ended by %s is the end, whatever it was calling', (reason) => {
    expect(step(said({ finish: { reason } }))).toEqual({ kind: 'finish', finish: { reason } });
  });

  it('with searches is another round', () => {
    expect(step(said())).toEqual({
      kind: 'search',
      searches: [{ kind: 'query', query: 'q', input: '{"query":"q"}' }],
      after: { kind: 'round', search: 'offered' },
    });
  });

  it('with calls of the caller’s tools beside them is the caller’s turn', () => {
    expect(step(said({ callsCaller: true }))).toMatchObject({ after: { finish: { reason: 'tool_calls' } } });
  });

  it.each([
    ['no output', { output: 0 }, 'length'],
    ['no round', { rounds: 0 }, 'stop'],
  ] as const)('when there is %s left is the end', (_, left, reason) => {
    expect(step(said(), left)).toMatchObject({ after: { finish: { reason } } });
  });

  it('grants as many searches as are left, in order, and counts none that was refused for its arguments', () => {
    const searches = [call('one'), call(''), call('two'), call('three')];
    expect(step(said({ searches }), { searches: 2 })).toMatchObject({
      searches: [
        { kind: 'query', query: 'one' },
        { kind: 'refused', code: 'invalid_tool_input' },
        { kind: 'query', query: 'two' },
        { kind: 'refused', code: 'max_uses_exceeded', input: '{"query":"three"}' },
      ],
      after: { search: 'offered' },
    });
  });

  it('removes the tool only from a model that has read that no searches are left', () => {
    expect(step(said(), { searches: 1 })).toMatchObject({ after: { search: 'offered' } });
    expect(step(said(), { searches: 0 })).toMatchObject({ after: { search: 'withdrawn' } });
  });
});

describe('the arguments of a search', () => {
  const read = (text: string) => {
    const found = step(said({ searches: [{ arguments: text }] }));
    return found.kind === 'search' ? found.searches[0] : undefined;
  };

  it.each([
    ['{"query": "  two\\n words "}', 'two words'],
    ['{"query":"a","reason":"b"}', 'a'],
    ['{"q":"a"}', 'a'],
    ['{"search_query":"a","count":3}', 'a'],
  ])('%s ask for %j', (text, query) => {
    expect(read(text)).toMatchObject({ kind: 'query', query });
  });

  it.each([
    ['', '{}', 'invalid_tool_input'],
    ['{"query": "cut', '{}', 'invalid_tool_input'],
    ['["a"]', '{}', 'invalid_tool_input'],
    ['null', '{}', 'invalid_tool_input'],
    [`{"query":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, '{}', 'invalid_tool_input'],
    ['{"query":7}', '{"query":7}', 'invalid_tool_input'],
    ['{"a":"x","b":"y"}', '{"a":"x","b":"y"}', 'invalid_tool_input'],
    [`{"query":"${'x'.repeat(401)}"}`, `{"query":"${'x'.repeat(401)}"}`, 'query_too_long'],
  ])('%s are refused, and shown as an object', (text, input, code) => {
    expect(read(text)).toMatchObject({ kind: 'refused', input, code });
  });
});
