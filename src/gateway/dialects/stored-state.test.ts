import { describe, expect, it } from 'vitest';
import type { ChatSurface } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { dialects } from './dialects.ts';

const user = { role: 'user', content: 'And then?' };
const good: Readonly<Record<ChatSurface, object>> = {
  chat: { model: 'demo/tiny', messages: [user] },
  messages: { model: 'demo/tiny', max_tokens: 9, messages: [user] },
  responses: { model: 'demo/tiny', input: [user] },
};

const send = (surface: ChatSurface, fields: object) => dialects[surface].readRequest({ ...good[surface], ...fields });

function refusalOf(surface: ChatSurface, fields: object): Failure {
  try {
    send(surface, fields);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const said = (...messages: readonly object[]): object => ({ messages });
const assistant = { role: 'assistant', content: null };

/** By what begins the message: the path of the field. */
const demands: readonly (readonly [ChatSurface, path: string, fields: object])[] = [
  ['chat', 'previous_response_id', { previous_response_id: 'chatcmpl-1' }],
  ['chat', 'conversation', { conversation: 'conv_1' }],
  ['chat', 'conversation', { conversation: { id: 'conv_1' } }],
  ['chat', 'prompt', { prompt: { id: 'pmpt_1' } }],
  ['chat', 'background', { background: true }],
  ['chat', 'messages[0].audio', said({ ...assistant, audio: { id: 'audio_1' } }, user)],
  [
    'chat',
    'messages[0].content[0].file.file_data',
    said({ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }),
  ],
  [
    'chat',
    'messages[0].content[0].image_url.url',
    said({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file-1' } }] }),
  ],
  ['messages', 'previous_message_id', { previous_message_id: 'msg_1' }],
  ['messages', 'previous_response_id', { previous_response_id: 'msg_1' }],
  ['messages', 'container', { container: 'container_1' }],
  ['messages', 'container', { container: { id: 'container_1', skills: [] } }],
  ['messages', 'container', { container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } }],
  ['messages', 'mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://m.example', name: 'm' }] }],
  [
    'messages',
    'messages[0].content[0].source.type',
    said({ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }),
  ],
  [
    'messages',
    'messages[0].content[0].source.type',
    said({ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] }),
  ],
  [
    'messages',
    'messages[0].content[0].type',
    said({ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }),
  ],
  ['responses', 'previous_response_id', { previous_response_id: 'resp_1' }],
  ['responses', 'conversation', { conversation: { id: 'conv_1' } }],
  ['responses', 'prompt', { prompt: { id: 'pmpt_1' } }],
  ['responses', 'background', { background: true }],
  ['responses', 'input[0].type', { input: [{ type: 'item_reference', id: 'rs_1' }] }],
  ['responses', 'input[0].type', { input: [{ id: 'rs_1' }] }],
  [
    'responses',
    'input[0].content[0].image_url',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
  ],
  [
    'responses',
    'input[0].content[0].file_data',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
  ],
];

describe('a demand on something stored', () => {
  it.each(demands)('on %s is refused by its field: %s', (surface, path, fields) => {
    const { row, message } = refusalOf(surface, fields);
    expect(row.status).toBe(400);
    expect(message.slice(0, path.length + 2)).toBe(`${path}: `);
    expect(message).toMatch(/send|sent|expected/);
  });

  it.each([
    [{ type: 'continue', previous_message_id: 'msg_1' }],
    [{ type: 'continue' }],
    [{ type: 'create', previous_message_id: 'msg_1' }],
    [{ previous_message_id: 'msg_1' }],
    [{ type: 'fork', previous_message_id: 'msg_1' }],
    ['thread_1'],
  ])('to go on with a thread is refused in the form on which clients send everything: %j', (thread) => {
    const { messages } = dialects;
    const refusal = refusalOf('messages', { thread });
    expect(refusal.row.status).toBe(400);
    const { error } = JSON.parse(messages.writeError(refusal)) as { readonly error: { readonly message: string } };
    expect(error).toEqual({
      type: 'invalid_request_error',
      code: 'param_not_supported',
      details: { error_code: 'thread_unsupported_request' },
      message:
        'capability_rejected: beta_header:message-threads-2026-08-12; thread: nothing is stored here: send the whole conversation in messages',
    });
  });
});

const harmless: readonly (readonly [ChatSurface, object])[] = [
  ['messages', { thread: { type: 'create' } }],
  ['messages', { thread: null, container: null, mcp_servers: [], previous_message_id: null }],
  ['messages', { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } }],
  ['messages', { diagnostics: { previous_message_id: 'msg_1' } }],
  [
    'chat',
    { store: true, metadata: { a: 'b' }, previous_response_id: null, conversation: '', prompt: 'x', background: false },
  ],
  ['chat', said({ ...assistant, content: 'a', audio: null, function_call: null, annotations: [] }, user)],
  ['responses', { store: true, previous_response_id: null, conversation: null, prompt: null, background: false }],
];

it.each(harmless)('without a demand %s serves %j', (surface, fields) => {
  expect(send(surface, fields).messages.at(-1)).toEqual(user);
});
