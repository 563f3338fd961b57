import { describe, expect, it } from 'vitest';
import type { SearchSeal } from '../../../core/web-search.ts';
import { readRequest } from './read-request.ts';

/** Opens only `source 3` and `number 3`. */
const seal: SearchSeal = {
  isOurs: () => false,
  sealSource: ({ number }) => `source ${number}`,
  openSource: (token) => {
    const [, number] = /^source (\d+)$/.exec(token) ?? [];
    return number === undefined
      ? undefined
      : { number: Number(number), url: `https://${number}.example/`, title: `T${number}`, text: 'Text.' };
  },
  sealNumber: (number) => `number ${number}`,
  openNumber: (token) => Number(/^number (\d+)$/.exec(token)?.[1] ?? Number.NaN) || undefined,
};

const text = (words: string, ...numbers: readonly number[]) => ({
  ...{ type: 'text', text: words },
  ...(numbers.length === 0
    ? {}
    : {
        citations: numbers.map((number) => ({
          ...{ type: 'web_search_result_location', encrypted_index: `number ${number}`, url: 'u', cited_text: 'c' },
        })),
      }),
});
const call = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } });
const result = (id: string, ...numbers: readonly number[]) => ({
  ...{ type: 'web_search_tool_result', tool_use_id: id },
  content: numbers.map((number) => ({
    type: 'web_search_result',
    encrypted_content: `source ${number}`,
    url: 'forged',
  })),
});
const failed = (id: string, code: string) => ({
  ...{ type: 'web_search_tool_result', tool_use_id: id },
  content: { type: 'web_search_tool_result_error', error_code: code },
});

function read(content: readonly unknown[], more: object = {}) {
  const user = { role: 'user', content: 'hi' };
  const messages = [user, { role: 'assistant', content }, user];
  return readRequest({ model: 'a/b', max_tokens: 9, messages, ...more }, { seal });
}
const turn = (content: readonly unknown[], more: object = {}) => read(content, more).messages.slice(1, -1);

const calls = (...ids: readonly string[]) => ({
  toolCalls: ids.map((id) => ({ id, name: 'web_search', arguments: '{"query":"q"}' })),
});

describe('a turn in which the web was searched', () => {
  it('becomes calls of the model with the results between them', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
    expect(turn([thinking, text('Let me see. '), call('s1'), result('s1', 3), text('It is.')])).toEqual([
      { role: 'assistant', content: 'Let me see. ', reasoning: 'hm', ...calls('s1') },
      {
        ...{ role: 'tool', toolCallId: 's1' },
        content: expect.stringMatching(/^\[cite:3\] T3\nhttps:\/\/3\.example\/\nText\.\n\nEach result/),
      },
      { role: 'assistant', content: 'It is.' },
    ]);
  });

  it('has the marks of its citations back, where the model wrote them', () => {
    const content = [text('Well. '), text('It is', 3), text('. And '), text('so', 4, 5), text('.')];
    expect(turn(content)).toEqual([{ role: 'assistant', content: 'Well. It is [cite:3]. And so [cite:4][cite:5].' }]);
  });

  it('keeps calls of the caller’s tools beside the searches', () => {
    const own = { type: 'tool_use', id: 't1', name: 'f', input: {} };
    const roles = turn([own, call('s1'), result('s1', 3)]).map(({ role }) => role);
    // The caller's own call has no result.
    expect(roles).toEqual(['assistant', 'tool', 'tool']);
    expect(turn([own, call('s1'), result('s1', 3)])[0]).toMatchObject({ toolCalls: [{ id: 't1' }, { id: 's1' }] });
  });

  it('has a result for every call, also for one that failed or whose result is missing', () => {
    const [, lost] = turn([call('s1')]);
    expect(lost).toMatchObject({
      role: 'tool',
      toolCallId: 's1',
      content: expect.stringMatching(/^Error: unavailable/),
    });
    const [, wrong] = turn([call('s1'), failed('s1', 'max_uses_exceeded'), text('So.')]);
    expect(wrong).toMatchObject({ content: expect.stringMatching(/^Error: max_uses_exceeded/) });
    const [, unheard] = turn([call('s1'), failed('s1', 'something_new'), text('So.')]);
    expect(unheard).toMatchObject({ content: expect.stringMatching(/^Error: unavailable/) });
  });

  it('returns all sources, opened', () => {
    const { sources } = read([call('s1'), result('s1', 3, 4), call('s2'), result('s2', 5), text('x')]);
    expect(sources?.map(({ number, url }) => [number, url])).toEqual([
      [3, 'https://3.example/'],
      [4, 'https://4.example/'],
      [5, 'https://5.example/'],
    ]);
    expect(read([text('x')]).sources).toBeUndefined();
  });

  it('has no marks where the answer has to be JSON', () => {
    const format = { output_config: { format: { type: 'json_schema', schema: {} } } };
    const [, found, said] = turn([call('s1'), result('s1', 3), text('It is', 3)], format);
    expect(found?.content).toMatch(/^3\. T3\n/);
    expect(said?.content).toBe('It is');
  });

  it('may cite documents of other services, which are dropped', () => {
    const cited = { ...text('x'), citations: [{ type: 'char_location', document_index: 0 }] };
    expect(turn([cited])).toEqual([{ role: 'assistant', content: 'x' }]);
  });

  const at = 'messages[1].content';
  it.each<readonly [string, readonly unknown[], string]>([
    [
      'a token that does not open',
      [call('s1'), { ...result('s1'), content: [{ type: 'web_search_result', encrypted_content: 'x' }] }],
      `${at}[1].content[0].encrypted_content: expected it as`,
    ],
    [
      'a citation that does not open',
      [{ ...text('x', 3), citations: [{ type: 'web_search_result_location', encrypted_index: 'x' }] }],
      `${at}[0].citations[0].encrypted_index: expected it as`,
    ],
    [
      'a citation without its token',
      [{ ...text('x'), citations: [{ type: 'web_search_result_location' }] }],
      `${at}[0].citations[0].encrypted_index: expected string`,
    ],
    [
      'a result without its call',
      [result('s1', 3)],
      `${at}[0].tool_use_id: expected the id of a server_tool_use before it`,
    ],
    ['two results of one call', [call('s1'), result('s1', 3), result('s1', 3)], `${at}[2].tool_use_id: expected`],
    [
      'a result without its content',
      [call('s1'), { type: 'web_search_tool_result', tool_use_id: 's1' }],
      `${at}[1].content: `,
    ],
    ['another server tool', [{ ...call('s1'), name: 'web_fetch' }], `${at}[0].name: expected web_search`],
  ])('is refused by the path of the field when it has %s', (_, content, message) => {
    expect(() => turn(content)).toThrow(message);
  });
});
