import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../core/failure.ts';
import type { Request } from '../../../core/request.ts';
import { readRequest as readChatRequest } from '../chat/read-request.ts';
import { readRequest } from './read-request.ts';

type Fields = Readonly<Record<string, unknown>>;

const good = { model: 'demo/tiny', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
const read = (fields: Fields): Request => readRequest({ ...good, ...fields });
const saying = (...messages: readonly unknown[]): Fields => ({ messages });
const user = (...content: readonly unknown[]): unknown => ({ role: 'user', content });
const assistant = (...content: readonly unknown[]): unknown => ({ role: 'assistant', content });
const text = (words: string) => ({ type: 'text', text: words });
const call = (id: string, input: object = { city: 'Ulm' }) => ({ type: 'tool_use', id, name: 'get_weather', input });
const result = (id: string, content?: unknown, more: object = {}) => ({
  ...{ type: 'tool_result', tool_use_id: id, ...(content === undefined ? {} : { content }) },
  ...more,
});
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const tool = { name: 'get_weather', input_schema: schema };

function refusal(fields: Fields): string {
  try {
    read(fields);
  } catch (error) {
    if (error instanceof Failure) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('a messages request means the same as a chat request', () => {
  const chatTool = { type: 'function', function: { name: 'get_weather', parameters: schema } };
  const chatCall = (id: string, input: object = { city: 'Ulm' }) => ({
    ...{ id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify(input) } },
  });

  it.each<readonly [string, Fields, Fields]>([
    ['a question', {}, {}],
    ['a system text', { system: 'Be kind.' }, saying({ role: 'system', content: 'Be kind.' }, good.messages[0])],
    [
      'system blocks, whatever their caching',
      { system: [{ ...text('Be '), cache_control: { type: 'ephemeral' } }, text('kind.')] },
      saying({ role: 'system', content: 'Be kind.' }, good.messages[0]),
    ],
    [
      'a system text in the middle',
      saying(
        good.messages[0],
        assistant(text('Hm.')),
        { role: 'system', content: [text('Now be brief.')] },
        user(text('So?')),
      ),
      saying(
        ...[good.messages[0], { role: 'assistant', content: 'Hm.' }],
        ...[
          { role: 'system', content: 'Now be brief.' },
          { role: 'user', content: 'So?' },
        ],
      ),
    ],
    ['text blocks', saying(user(text('Hel'), text('lo'))), saying({ role: 'user', content: 'Hello' })],
    [
      'images',
      saying(user(text('See:'), png, { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } })),
      saying({
        role: 'user',
        content: [
          text('See:'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: 'https://a.example/b.png' },
        ],
      }),
    ],
    [
      'thinking and calls that are replayed',
      saying(
        good.messages[0],
        assistant({ type: 'thinking', thinking: 'Hm, ', signature: 'x' }, text('I look.'), call('a'), call('b', {})),
        user(result('a', 'sunny'), result('b', [text('ra'), text('in')])),
      ),
      saying(
        good.messages[0],
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_content: 'Hm, ',
          tool_calls: [chatCall('a'), chatCall('b', {})],
        },
        { role: 'tool', tool_call_id: 'a', content: 'sunny' },
        { role: 'tool', tool_call_id: 'b', content: 'rain' },
      ),
    ],
    [
      'a call without a word',
      saying(good.messages[0], assistant(call('a')), user(result('a'))),
      saying(
        good.messages[0],
        { role: 'assistant', tool_calls: [chatCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: '' },
      ),
    ],
    [
      'what the user says beside a result',
      saying(good.messages[0], assistant(call('a')), user(text('Faster, '), result('a', 'sunny'), text('please.'))),
      saying(
        ...[good.messages[0], { role: 'assistant', tool_calls: [chatCall('a')] }],
        ...[
          { role: 'tool', tool_call_id: 'a', content: 'sunny' },
          { role: 'user', content: 'Faster, please.' },
        ],
      ),
    ],
    [
      'tools',
      { tools: [{ ...tool, type: 'custom', description: 'Tells.', strict: true, cache_control: {} }] },
      { tools: [{ ...chatTool, function: { ...chatTool.function, description: 'Tells.', strict: true } }] },
    ],
    [
      'tools that may be called',
      { tools: [tool], tool_choice: { type: 'auto' } },
      { tools: [chatTool], tool_choice: 'auto' },
    ],
    [
      'tools of which any is called',
      { tools: [tool], tool_choice: { type: 'any' } },
      { tools: [chatTool], tool_choice: 'required' },
    ],
    [
      'tools of which none is called',
      { tools: [tool], tool_choice: { type: 'none' } },
      { tools: [chatTool], tool_choice: 'none' },
    ],
    [
      'a tool that is called',
      { tools: [tool], tool_choice: { type: 'tool', name: 'get_weather' } },
      { tools: [chatTool], tool_choice: { type: 'function', function: { name: 'get_weather' } } },
    ],
    [
      'one call at a time',
      { tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      { tools: [chatTool], tool_choice: 'auto', parallel_tool_calls: false },
    ],
    ['a choice without tools', { tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
    ['no thinking', { thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
    [
      'thinking with a budget',
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
      { reasoning: { max_tokens: 2048 } },
    ],
    ['adaptive thinking', { thinking: { type: 'adaptive', display: 'summarized' } }, { reasoning: { enabled: true } }],
    ['an effort', { output_config: { effort: 'xhigh' } }, { reasoning_effort: 'xhigh' }],
    [
      'adaptive thinking with an effort',
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      { reasoning_effort: 'low' },
    ],
    [
      'no thinking, whatever the effort',
      { thinking: { type: 'disabled' }, output_config: { effort: 'low' } },
      { reasoning_effort: 'none' },
    ],
    [
      'a schema',
      { output_config: { format: { type: 'json_schema', schema } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } },
    ],
    [
      'a schema under its earlier name',
      { output_format: { type: 'json_schema', schema } },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } },
    ],
    [
      'sampling',
      { temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['a', 'b'] },
      { temperature: 0.5, top_p: 0.9, top_k: 40, stop: ['a', 'b'] },
    ],
    ['a stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['a suffix of the model', { model: 'Demo/Tiny:nitro' }, { model: 'demo/tiny' }],
    ['null', { system: null, stream: null, tools: null, thinking: null, temperature: null }, {}],
    ['an end user and unknown fields', { metadata: { user_id: 'CANARY' }, unknown: 1 }, { user: 'CANARY' }],
  ])('%s', (_, fields, chatFields) => {
    expect(read(fields)).toEqual({ ...readChatRequest({ ...good, ...chatFields }), includeUsage: true });
  });
});

describe('a conversation', () => {
  const messagesOf = (...turns: readonly unknown[]): Request['messages'] => read(saying(...turns)).messages;
  /** What follows a call with this result. */
  const afterResult = (content: unknown, more: object = {}): Request['messages'] =>
    messagesOf(assistant(call('a')), user(result('a', content, more))).slice(1);

  it('moves images of a result to the user’s message, since engines take only text from a tool', () => {
    expect(
      messagesOf(good.messages[0], assistant(call('a')), user(result('a', [text('Seen'), png]), text('And?'))).slice(2),
    ).toEqual([
      { role: 'tool', toolCallId: 'a', content: 'Seen' },
      {
        role: 'user',
        content: [
          text('Result of the tool call a:'),
          {
            ...{ type: 'image', url: 'data:image/png;base64,iVBO' },
            alternative: '[An image (image/png) stood here. This model cannot read it.]',
          },
          text('\n\n'),
          text('And?'),
        ],
      },
    ]);
    expect(afterResult([png])[0]).toEqual({
      ...{ role: 'tool', toolCallId: 'a', content: 'The result is shown in the next message.' },
    });
  });

  it.each<readonly [string, object, string]>([
    [
      'a text document',
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'abc' } },
      'Notes\n\nabc',
    ],
    ['a document in blocks', { type: 'document', source: { type: 'content', content: [text('a'), text('b')] } }, 'ab'],
    [
      'a search result',
      { type: 'search_result', title: 'T', source: 'https://t.example', content: [text('found')] },
      'T (https://t.example)\n\nfound',
    ],
  ])('reads %s as text, in a user’s turn and in the result of a tool', (_, block, expected) => {
    expect(messagesOf(user(block))).toEqual([{ role: 'user', content: expected }]);
    expect(afterResult([block])).toEqual([{ role: 'tool', toolCallId: 'a', content: expected }]);
  });

  it('makes documents and search results paragraphs of their own', () => {
    const notes = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'abc' } };
    const found = { type: 'search_result', title: 'T', source: 'https://t.example', content: [text('found')] };
    const expected = 'Read: \n\nabc\n\nT (https://t.example)\n\nfound\n\nWhat?';
    const blocks = [text('Read: '), notes, found, text('Wh'), text('at?')];
    expect(messagesOf(user(...blocks))).toEqual([{ role: 'user', content: expected }]);
    expect(afterResult(blocks)).toEqual([{ role: 'tool', toolCallId: 'a', content: expected }]);
  });

  it.each<readonly [string, object, string]>([
    [
      'a PDF',
      { type: 'document', title: 'Plan', source: { type: 'base64', media_type: 'application/pdf', data: 'A' } },
      '[A document "Plan" (application/pdf) stood here. This model cannot read it.]',
    ],
    [
      'an image of an unknown kind',
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      '[An image stood here. This model cannot read it.]',
    ],
    [
      'a block of an unknown type',
      { type: 'audio_clip', data: 'A' },
      '[An audio clip stood here. This model cannot read it.]',
    ],
  ])('describes %s in a tool result, since it stays in the history', (_, block, expected) => {
    expect(afterResult([block])).toEqual([{ role: 'tool', toolCallId: 'a', content: expected }]);
  });

  it('names the tools that a client’s own search has found', () => {
    const found = [
      { type: 'tool_reference', tool_name: 'mail' },
      { type: 'tool_reference', tool_name: 'map' },
    ];
    expect(afterResult(found)).toEqual([
      {
        ...{ role: 'tool', toolCallId: 'a' },
        content: 'The tool mail can be called from now on.\nThe tool map can be called from now on.\n',
      },
    ]);
  });

  it.each([
    ['it hurts', 'Error: it hurts'],
    ['Error: it hurts', 'Error: it hurts'],
    ['<error>it hurts</error>', '<error>it hurts</error>'],
    ['errors are fine', 'Error: errors are fine'],
    ['', 'Error'],
  ])('marks a failed call in its text: %j', (content, said) => {
    expect(afterResult(content, { is_error: true })).toEqual([{ role: 'tool', toolCallId: 'a', content: said }]);
    expect(afterResult(content, { is_error: false })).toEqual([{ role: 'tool', toolCallId: 'a', content }]);
  });

  it('drops encrypted thinking, and joins thinking that was separated by text', () => {
    const redacted = { type: 'redacted_thinking', data: 'CANARY' };
    const think = (words: string) => ({ type: 'thinking', thinking: words, signature: '' });
    expect(messagesOf(user(text('a')), assistant(redacted, think('one '), text('two'), think('three')))[1]).toEqual({
      ...{ role: 'assistant', content: 'two', reasoning: 'one three' },
    });
    expect(messagesOf(user(text('a')), assistant(redacted))[1]).toEqual({ role: 'assistant', content: '' });
  });

  it('drops the mark of another service’s change of model', () => {
    const changed = { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } };
    expect(messagesOf(user(text('a')), assistant(changed, text('b')))[1]).toEqual({ role: 'assistant', content: 'b' });
  });

  it('keeps a system text that asks for it until the user’s next turn only', () => {
    const late = (hour: string, clear_at: unknown) => ({ role: 'system', content: `It is ${hour}.`, clear_at });
    const turns = (clear_at: unknown) => [
      user(text('a')),
      late('one', clear_at),
      assistant(text('b')),
      user(text('c')),
    ];
    const seen = (clear_at: unknown) =>
      messagesOf(...turns(clear_at), late('two', clear_at)).map(({ content }) => content);
    expect(seen('next_user_message')).toEqual(['a', 'b', 'c', 'It is two.']);
    for (const kept of ['never', null, 7]) expect(seen(kept)).toEqual(['a', 'It is one.', 'b', 'c', 'It is two.']);
  });

  it('leaves out a system turn without text', () => {
    expect(messagesOf(user(text('a')), { role: 'system', output_config: { effort: 'low' } })).toEqual([
      { role: 'user', content: 'a' },
    ]);
  });

  it('makes one turn of several of the same role', () => {
    expect(
      messagesOf(user(text('a')), { role: 'user', content: 'b' }, assistant(text('c')), assistant(call('x'))),
    ).toEqual([
      { role: 'user', content: 'a\n\nb' },
      { role: 'assistant', content: 'c', toolCalls: [{ id: 'x', name: 'get_weather', arguments: '{"city":"Ulm"}' }] },
    ]);
    expect(messagesOf(user(png), user(text('b')))).toEqual([
      { role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,iVBO' }, text('\n\n'), text('b')] },
    ]);
  });

  it('drops the end user’s name, signatures and cache marks', () => {
    const marked = { ...text('a'), cache_control: { type: 'ephemeral', ttl: 'CANARY' }, citations: ['CANARY'] };
    const request = read({
      ...saying(
        user(marked),
        assistant({ type: 'thinking', thinking: 'b', signature: 'CANARY' }, { ...call('c'), caller: 'CANARY' }),
      ),
      ...{ metadata: { user_id: 'CANARY' }, service_tier: 'CANARY', tools: [{ ...tool, cache_control: 'CANARY' }] },
    });
    expect(JSON.stringify(request)).not.toContain('CANARY');
    expect(request.inert).toEqual(['service_tier']);
  });
});

describe('the tools of a messages request', () => {
  const named = (name: string, more: object = {}) => ({ ...tool, name, ...more });
  const deferred = (name: string) => named(name, { defer_loading: true });
  const namesOf = (fields: Fields): readonly string[] => read(fields).tools.map(({ name }) => name);
  const many = [named('find'), ...Array.from({ length: 22 }, (_, at) => deferred(`tool_${at}`))];

  it('leave out deferred ones', () => {
    expect(namesOf({ tools: many })).toEqual(['find']);
  });

  it('include those that the conversation has named, in their place', () => {
    const found = [{ type: 'tool_reference', tool_name: 'tool_7' }];
    const called = { type: 'tool_use', id: 'b', name: 'tool_3', input: {} };
    const fields = saying(
      user(text('a')),
      assistant(call('a')),
      user(result('a', found)),
      assistant(called),
      user(result('b', 'x')),
    );
    expect(namesOf({ ...fields, tools: many })).toEqual(['find', 'tool_3', 'tool_7']);
  });

  it('follow the changes of system turns', () => {
    const change = (type: string, changed: object) => ({ role: 'system', content: [{ type, tool: changed }] });
    const byName = (name: string) => ({ type: 'tool_reference', name });
    const defining = (name: string, more: object) => ({ type: 'tool_definition', definition: named(name, more) });
    const tools = [named('a'), named('b'), deferred('c')];
    const left = (...changes: readonly unknown[]) => namesOf({ ...saying(user(text('x')), ...changes), tools });
    expect(left(change('tool_removal', byName('a')))).toEqual(['b']);
    expect(left(change('tool_removal', byName('a')), change('tool_addition', byName('a')))).toEqual(['a', 'b']);
    expect(left(change('tool_addition', byName('c')))).toEqual(['a', 'b', 'c']);
    expect(left(change('tool_addition', byName('unheard-of')))).toEqual(['a', 'b']);
    expect(left(change('tool_addition', defining('d', {})))).toEqual(['a', 'b', 'd']);
    expect(left(change('tool_addition', defining('d', {})), change('tool_removal', byName('d')))).toEqual(['a', 'b']);
    const again = change('tool_addition', defining('a', { description: 'Again.' }));
    const { tools: redefined, messages } = read({ ...saying(user(text('x')), again), tools });
    expect(redefined.find(({ name }) => name === 'a')?.description).toBe('Again.');
    expect(messages).toEqual([{ role: 'user', content: 'x' }]);
  });

  it('include one that must be called', () => {
    expect(namesOf({ tools: many, tool_choice: { type: 'tool', name: 'tool_9' } })).toEqual(['find', 'tool_9']);
  });

  it.each([
    ['bash_20250124', 'bash', ['command', 'restart']],
    [
      'text_editor_20241022',
      'str_replace_editor',
      ['command', 'file_text', 'insert_line', 'new_str', 'old_str', 'path', 'view_range'],
    ],
    [
      'text_editor_20250728',
      'str_replace_based_edit_tool',
      ['command', 'file_text', 'insert_line', 'insert_text', 'new_str', 'old_str', 'path', 'view_range'],
    ],
    [
      'memory_20250818',
      'memory',
      [
        'command',
        'file_text',
        'insert_line',
        'insert_text',
        'new_path',
        'new_str',
        'old_path',
        'old_str',
        'path',
        'view_range',
      ],
    ],
    ['computer_20241022', 'computer', ['action', 'coordinate', 'start_coordinate', 'text']],
    [
      'computer_20251124',
      'computer',
      ['action', 'coordinate', 'duration', 'scroll_amount', 'scroll_direction', 'start_coordinate', 'text'],
    ],
  ])('that a client runs are shown as functions: %s', (type, name, fields) => {
    const [shown] = read({ tools: [{ type, name, display_width_px: 1024, display_height_px: 768 }] }).tools;
    expect(shown?.name).toBe(name);
    expect(Object.keys(shown?.parameters?.['properties'] ?? {}).toSorted()).toEqual(fields);
  });

  it('that a client runs can zoom when the client says so', () => {
    const zooming = (more: object) => {
      const [shown] = read({ tools: [{ type: 'computer_20251124', name: 'computer', ...more }] }).tools;
      return JSON.stringify(shown).includes('"zoom"');
    };
    expect([zooming({}), zooming({ enable_zoom: false }), zooming({ enable_zoom: true })]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('that use a screen know its size', () => {
    const screen = { type: 'computer_20250124', name: 'computer', display_width_px: 1024, display_height_px: 768 };
    expect(read({ tools: [screen] }).tools[0]?.description).toContain('1024 by 768 pixels');
  });
});

describe('a messages request is refused with the path of the invalid field', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`) as object;
  it.each<readonly [string, Fields, string]>([
    ['no cap', { max_tokens: undefined }, 'max_tokens: expected number, received undefined'],
    ['a cap of nothing', { max_tokens: 0 }, 'max_tokens: '],
    ['no messages', { messages: [] }, 'messages: '],
    ['an unknown role', saying({ role: 'tool', content: 'x' }), 'messages[0].role: '],
    ['an empty turn', saying(user()), 'messages[0].content: '],
    [
      'a PDF file in the user’s own turn',
      saying(
        user(text('a'), { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'A' } }),
      ),
      'messages[0].content[1].source.type: only documents whose text is in the request are read',
    ],
    [
      'a document of no kind',
      saying(user({ type: 'document', source: {} })),
      "messages[0].content[0].source.type: expected 'text' | 'content'",
    ],
    [
      'a file that was uploaded elsewhere',
      saying(user({ type: 'container_upload', file_id: 'f' })),
      'messages[0].content[0].type: files are not kept here',
    ],
    [
      'a tool that the service would run',
      { tools: [{ type: 'code_execution_20250825', name: 'c' }] },
      'tools[0].type: code_execution_20250825 is a tool that the service would run, and it is not offered here',
    ],
    [
      'a set of tools',
      { tools: [{ type: 'computer_toolset_20260801' }] },
      'tools[0].type: computer_toolset_20260801 is a set of tools that is not offered here: send its tools as functions',
    ],
    [
      'a search for tools that the service would run',
      { tools: [{ type: 'tool_search_tool_bm25', name: 't' }] },
      'tools[0].type: tool_search_tool_bm25 is a tool that the service would run, and it is not offered here',
    ],
    [
      'a tool of an MCP server that is added in the middle',
      saying(user(text('a')), {
        role: 'system',
        content: [{ type: 'tool_addition', tool: { type: 'mcp_tool_reference' } }],
      }),
      'messages[1].content[0].tool.type: tools of MCP servers are not run here',
    ],
    [
      'a conversation that was shortened elsewhere',
      saying(assistant({ type: 'compaction', content: 'x' })),
      'messages[0].content[0].type: conversations that another service has shortened are not supported',
    ],
    ['a tool of no known kind', { tools: [{ type: 'telepathy', name: 'c' }] }, 'tools[0].type: expected custom, '],
    [
      'a client’s tool by another name',
      { tools: [{ type: 'bash_20250124', name: 'sh' }] },
      'tools[0].name: expected bash with type bash_20250124',
    ],
    [
      'a file',
      saying(user({ type: 'image', source: { type: 'file', file_id: 'f' } })),
      'messages[0].content[0].source.type: files are not kept here',
    ],
    [
      'a picture of no kind',
      saying(user({ ...png, source: { ...png.source, media_type: 'text/html' } })),
      'messages[0].content[0].source.media_type: ',
    ],
    [
      'a picture from a disk',
      saying(user({ type: 'image', source: { type: 'url', url: 'file:///a' } })),
      'messages[0].content[0].source.url: expected an http(s) URL',
    ],
    ['a block of an unknown type', saying(user({ type: 'audio' })), 'messages[0].content[0].type: expected'],
    ['a call by a user', saying(user(call('a'))), 'messages[0].content[0].type: expected'],
    ['a picture by the model', saying(user(text('a')), assistant(png)), 'messages[1].content[0].type: expected'],
    [
      'code that ran elsewhere',
      saying(assistant({ type: 'code_execution_tool_result' })),
      'messages[0].content[0].type: blocks of tools',
    ],
    ['input that is no object', saying(assistant(call('a', [] as object))), 'messages[0].content[0].input: '],
    [
      'input that is too deep',
      saying(assistant(call('a', deep))),
      'messages[0].content[0].input: nested deeper than 256 levels',
    ],
    [
      'a result of nothing',
      saying(user({ type: 'tool_result', content: 'x' })),
      'messages[0].content[0].tool_use_id: ',
    ],
    ['a tool without a schema', { tools: [{ name: 'a' }] }, 'tools[0].input_schema: '],
    ['a tool without a good name', { tools: [tool, { ...tool, name: 'a b' }] }, 'tools[1].name: expected 1 to 128'],
    ['a choice of any of no tools', { tool_choice: { type: 'any' } }, 'tool_choice: "any" needs'],
    ['a choice of an unknown tool', { tools: [tool], tool_choice: { type: 'tool', name: 'x' } }, 'tool_choice.name: '],
    ['an unknown choice', { tools: [tool], tool_choice: { type: 'required' } }, 'tool_choice.type: expected'],
    ['an unknown way to think', { thinking: { type: 'deeply' } }, 'thinking.type: expected'],
    ['an unknown effort', { output_config: { effort: 'none' } }, 'output_config.effort: expected'],
    ['an unknown format', { output_config: { format: { type: 'xml' } } }, 'output_config.format.type: '],
    ['a hot temperature', { temperature: 3 }, 'temperature: '],
    ['too many stops', { stop_sequences: Array.from({ length: 17 }, String) }, 'stop_sequences: '],
    ['an empty stop', { stop_sequences: [''] }, 'stop_sequences[0]: '],
  ])('%s', (_, fields, message) => {
    expect(refusal(fields)).toContain(`invalid_request ${message}`);
  });

  it('that asks for an unknown variant', () => {
    expect(refusal({ model: 'demo/tiny:free' })).toContain('variant_not_supported model: ');
  });

  it('whatever it holds: nothing else is ever thrown, and what is read is plain data', () => {
    const block = fc.oneof(
      fc.constantFrom<unknown>(png, text('x'), call('a'), result('a', 'x'), { type: 'thinking' }),
      fc.jsonValue(),
    );
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant', 'system', 'x'),
      content: fc.oneof(fc.string(), fc.array(block), fc.jsonValue()),
    });
    const body = fc.record(
      {
        ...{
          model: fc.constant('a/b'),
          max_tokens: fc.oneof(fc.constant(5), fc.jsonValue()),
          messages: fc.array(message, { maxLength: 4 }),
        },
        ...{
          system: fc.jsonValue(),
          tools: fc.oneof(fc.constant([tool]), fc.jsonValue()),
          tool_choice: fc.jsonValue(),
        },
        ...{
          thinking: fc.jsonValue(),
          output_config: fc.jsonValue(),
          stop_sequences: fc.jsonValue(),
          metadata: fc.jsonValue(),
        },
      },
      { requiredKeys: ['model'] },
    );
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
        try {
          const request = readRequest(value);
          expect(structuredClone(request)).toEqual(request);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          expect(error.code).toMatch(/^(invalid_request|variant_not_supported)$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
