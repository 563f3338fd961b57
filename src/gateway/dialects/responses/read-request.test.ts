import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorBody, Failure } from '../../../core/failure.ts';
import type { Request } from '../../../core/request.ts';
import { readRequest as readChat } from '../chat/read-request.ts';
import { parseKeys } from '../../web-search/seal/key-ring.ts';
import { createSeal } from '../../web-search/seal/seal.ts';
import { readRequest } from './read-request.ts';

type Fields = Readonly<Record<string, unknown>>;

const good = { model: 'demo/tiny', input: 'Hi.' };
const read = (fields: Fields = {}): Request => readRequest({ ...good, ...fields });

/** What a refused body is answered with. */
function refusal(fields: Fields): Fields {
  try {
    read(fields);
  } catch (error) {
    if (error instanceof Failure) return { ...errorBody(error, String) };
    throw error;
  }
  throw new Error('the body was read');
}

describe('a responses request means the same as a chat request', () => {
  const user = { role: 'user', content: 'Hi.' };
  const look = { name: 'look', parameters: { type: 'object' } };
  const schema = { name: 'a', schema: { type: 'object' }, strict: true };
  it.each<readonly [string, Fields, Fields]>([
    ['a text', {}, {}],
    ['instructions', { instructions: 'Be kind.' }, { messages: [{ role: 'system', content: 'Be kind.' }, user] }],
    [
      'a developer in the middle',
      { input: [user, { role: 'developer', content: 'Be kind.' }] },
      { messages: [user, { role: 'developer', content: 'Be kind.' }] },
    ],
    ['a cap', { max_output_tokens: 9 }, { max_tokens: 9 }],
    ['sampling', { temperature: 0.5, top_p: 0.5 }, { temperature: 0.5, top_p: 0.5 }],
    ['probabilities', { top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
    ['a function', { tools: [{ type: 'function', ...look }] }, { tools: [{ type: 'function', function: look }] }],
    [
      'a schema',
      { text: { format: { type: 'json_schema', ...schema } } },
      { response_format: { type: 'json_schema', json_schema: schema } },
    ],
    ['an effort', { reasoning: { effort: 'minimal' } }, { reasoning_effort: 'minimal' }],
    ['no reasoning', { reasoning: { effort: 'none' } }, { reasoning_effort: 'none' }],
    ['the deepest reasoning', { reasoning: { effort: 'xhigh' } }, { reasoning_effort: 'max' }],
    ['no effort', { reasoning: { effort: null, summary: null } }, {}],
    ['a stream', { stream: true }, { stream: true }],
  ])('%s', (_, responses, chat) => {
    const { callFormat: __, ...expected } = readChat({ model: 'demo/tiny', messages: [user], ...chat });
    const { callFormat: ___, ...seen } = read(responses);
    expect(JSON.parse(JSON.stringify(seen))).toEqual(
      JSON.parse(JSON.stringify({ ...expected, includeUsage: true })) as unknown,
    );
  });
});

describe('turns', () => {
  const messagesOf = (...input: readonly unknown[]): Request['messages'] => read({ input }).messages;
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
  const output = (id: string, text: string) => ({ type: 'function_call_output', call_id: id, output: text });

  it('of a model are its reasoning, its words and its calls together, up to the answers of its tools', () => {
    const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] };
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] };
    const user = { role: 'user', content: 'Go.' };
    const turns = messagesOf(
      user,
      reasoning,
      said,
      call('a'),
      call('b'),
      output('a', '1'),
      output('b', '2'),
      call('c'),
    );
    expect(JSON.parse(JSON.stringify(turns))).toEqual([
      user,
      {
        ...{ role: 'assistant', reasoning: 'Hm', content: 'I look.' },
        toolCalls: ['a', 'b'].map((id) => ({ id, name: 'look', arguments: '{}' })),
      },
      { role: 'tool', toolCallId: 'a', content: '1' },
      { role: 'tool', toolCallId: 'b', content: '2' },
      { role: 'assistant', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] },
    ]);
  });

  it('of a user in a row become one, a paragraph each', () => {
    expect(messagesOf({ role: 'user', content: 'One.' }, { role: 'user', content: 'Two.' })).toEqual([
      { role: 'user', content: 'One.\n\nTwo.' },
    ]);
  });

  it('of reasoning alone have an empty text', () => {
    expect(messagesOf({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] })).toEqual([
      { role: 'assistant', reasoning: 'Hm', content: '' },
    ]);
  });
});

describe('a long conversation is read in a time that grows with its length', () => {
  // A reader that went over the whole for each item would pass the time limit of a test.
  const count = 100_000;
  const seal = {
    ...{
      isOurs: () => false,
      sealSource: () => '',
      openSource: () => undefined,
      sealNumber: () => '',
      openNumber: () => 3,
    },
  };

  it('of images that tools returned, one after the other', () => {
    const output = [{ type: 'input_image', image_url: 'data:image/png;base64,aa' }];
    const calls = Array.from({ length: count }, (_, at) => ({
      ...{ type: 'function_call', call_id: `a${at}`, name: 'look', arguments: '{}' },
    }));
    const results = calls.map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output }));
    expect(read({ input: [...calls, ...results] }).messages).toHaveLength(count + 2);
    // Without their calls they are words of the user.
    expect(read({ input: results }).messages).toHaveLength(1);
  });

  it('of citations in a long text', () => {
    const text = 'x'.repeat(3_000_000);
    const annotations = Array.from({ length: count }, (_, at) => ({
      ...{ type: 'url_citation', end_index: at * 30, encrypted_index: 'sealed' },
    }));
    const said = { role: 'assistant', content: [{ type: 'output_text', text, annotations }] };
    const { messages } = readRequest({ ...good, input: [said] }, { seal });
    expect(messages[0]?.content).toHaveLength(text.length + count * ' [cite:3]'.length);
  });
});

describe('what needs a stored answer is refused with its field', () => {
  it.each([
    ['previous_response_id', 'resp_1'],
    ['conversation', { id: 'conv_1' }],
    ['prompt', { id: 'pmpt_1' }],
    ['background', true],
  ])('%s', (name, value) => {
    expect(refusal({ [name]: value })).toMatchObject({
      ...{ code: 'param_not_supported', type: 'invalid_request_error' },
      message: expect.stringMatching(new RegExp(`^${name}: `)) as string,
    });
    expect(read({ [name]: null }).inert).toEqual([]);
  });

  it('but not what clients send by default', () => {
    expect(read({ background: false, store: false, previous_response_id: null, truncation: 'disabled' }).inert).toEqual(
      [],
    );
  });
});

describe('a responses request is refused with the path of the invalid field', () => {
  it.each<readonly [string, Fields, string]>([
    ['no input', { input: undefined }, 'input: '],
    ['an empty list', { input: [] }, 'input: '],
    ['an item of no known type', { input: [{ type: 'thought' }] }, "input[0].type: expected 'message' | "],
    ['an item that is none', { input: ['Hi.'] }, 'input[0]: expected an object with a type'],
    ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, 'input[0].role: '],
    [
      'a part of another side',
      { input: [{ role: 'user', content: [{ type: 'output_text', text: 'x' }] }] },
      'input[0].content[0].type: ',
    ],
    ['a call without an id', { input: [{ type: 'function_call', name: 'a', arguments: '' }] }, 'input[0].call_id: '],
    ['a cap of none', { max_output_tokens: 0 }, 'max_output_tokens: '],
    ['an unknown effort', { reasoning: { effort: 'some' } }, 'reasoning.effort: '],
    ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name: '],
    ['a tool of no known type', { tools: [{ type: 'look' }] }, "tools[0].type: expected 'function' | 'custom' | "],
    ['a tool without a name', { tools: [{ type: 'function' }] }, 'tools[0].name: '],
    [
      'a tool in a namespace',
      { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function' }] }] },
      'tools[0].tools[0].name: ',
    ],
  ])('%s', (_, fields, message) => {
    const { message: seen, type } = refusal(fields);
    expect(String(seen).slice(0, message.length)).toBe(message);
    expect(type).toBe('invalid_request_error');
  });

  it('and never with anything but a refusal, whatever is sent', () => {
    const item = fc.record(
      {
        type: fc.constantFrom('message', 'reasoning', 'function_call', undefined),
        role: fc.string(),
        content: fc.anything(),
        summary: fc.anything(),
        call_id: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.record(
          {
            input: fc.oneof(fc.anything(), fc.array(item)),
            tools: fc.anything(),
            text: fc.anything(),
            include: fc.anything(),
          },
          { requiredKeys: [] },
        ),
        (fields) => {
          try {
            read(fields);
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
          }
        },
      ),
    );
  });
});

describe('tools in namespaces', () => {
  const functions = (count: number) => Array.from({ length: count }, (_, at) => ({ type: 'function', name: `f${at}` }));
  const spaces = (...counts: readonly number[]) =>
    counts.map((count, at) => ({ type: 'namespace', name: `n${at}`, tools: functions(count) }));

  it.each([
    ['two that hold one too many together', spaces(1024, 1)],
    ['a hundred full ones', spaces(...Array.from({ length: 100 }, () => 1024))],
    ['one beside tools of its caller', [...spaces(1000), ...functions(25)]],
  ])('count against the bound of a request: %s', (_, tools) => {
    expect(refusal({ tools })).toMatchObject({ message: 'tools: expected at most 1024, those of namespaces included' });
    // Twin: neither the list of the request nor that of a namespace is over its own bound.
    expect(tools.length).toBeLessThanOrEqual(1024);
  });

  it('are read up to the bound', () => {
    expect(read({ tools: [...spaces(1000), ...functions(24)] }).tools).toHaveLength(1024);
  });
});

describe('what this service has sealed', () => {
  const sealOf = () => {
    const keys = parseKeys(randomBytes(32).toString('base64'));
    return createSeal(() => keys);
  };
  const [ours, theirs] = [sealOf(), sealOf()];
  const damaged = (token: string): string => token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBB' : 'AAAA');
  const source = { number: 1, url: 'https://a.example/', title: 'A', text: 'Says.' };
  const reasoning = (token: string) => ({ type: 'reasoning', summary: [], encrypted_content: token });
  const search = (token: string) => ({
    ...{ type: 'web_search_call', id: 'ws_1', status: 'completed' },
    action: { type: 'search', query: 'q', sources: [{ type: 'url', url: source.url, encrypted_content: token }] },
  });
  const cited = (token: string) => ({
    ...{ type: 'message', role: 'assistant' },
    content: [
      {
        ...{ type: 'output_text', text: 'Says.' },
        annotations: [{ type: 'url_citation', url: source.url, end_index: 5, encrypted_index: token }],
      },
    ],
  });
  const readSealed = (item: object): Request =>
    readRequest(
      { ...good, tools: [{ type: 'web_search' }], input: [{ role: 'user', content: 'Hi.' }, item] },
      { seal: ours, traces: ours },
    );

  it.each([
    ['input[1].encrypted_content', reasoning, (seal: typeof ours) => seal.sealTrace('hm')],
    ['input[1].action.sources[0].encrypted_content', search, (seal: typeof ours) => seal.sealSource(source)],
    ['input[1].content[0].annotations[0].encrypted_index', cited, (seal: typeof ours) => seal.sealNumber(1)],
  ] as const)('is refused by its field when it was damaged: %s', (field, item, sealed) => {
    expect(() => readSealed(item(damaged(sealed(ours))))).toThrow(`${field}: expected it as this service gave it`);
    expect(() => readSealed(item(sealed(ours).slice(0, -1)))).toThrow(`${field}: `);
    expect(() => readSealed(item(sealed(ours)))).not.toThrow();
    // What another deployment has sealed is left out, damaged or not.
    expect(() => readSealed(item(sealed(theirs)))).not.toThrow();
    expect(() => readSealed(item(damaged(sealed(theirs))))).not.toThrow();
  });

  it('is read once when a client sends an item of reasoning again', () => {
    const items = (...input: readonly object[]) =>
      readRequest({ ...good, input: [{ role: 'user', content: 'Hi.' }, ...input] }, { seal: ours, traces: ours })
        .messages.map((message) => (message.role === 'assistant' ? message.reasoning : undefined))
        .filter((text) => text !== undefined);
    const plain = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] };
    expect(items(plain, plain)).toEqual(['hm']);
    expect(items(reasoning(ours.sealTrace('hm')), reasoning(ours.sealTrace('hm')))).toEqual(['hm']);
    expect(items(plain, reasoning(ours.sealTrace('so')), plain)).toEqual(['hmso']);
    // The same thought in another turn is another thought.
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c', output: 'x' };
    expect(items(plain, call, output, plain)).toEqual(['hm', 'hm']);
  });
});
