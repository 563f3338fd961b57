// @suite apart
import { getHeapSpaceStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collectGarbage } from '../../../test/support/kept-heap.ts';
import type { ChatSurface } from '../../core/dialect.ts';
import { readBody } from './prepare.ts';

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;
}

/** The share of a body that stays in the old generation when it was read, and is garbage. */
function keptShare(body: object, read: (bytes: Uint8Array) => unknown): number {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const bodies = 400;
  for (let at = 0; at < 30; at += 1) read(bytes);
  collectGarbage();
  const before = oldBytes();
  for (let at = 0; at < bodies; at += 1) read(bytes);
  return (oldBytes() - before) / bodies / bytes.length;
}

const text = 'a sentence of a message '.repeat(100);
const many = (...turn: readonly object[]): readonly object[] => Array.from({ length: 30 }, () => turn).flat();
const data = `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
const image = `data:image/png;base64,${'A'.repeat(1000)}`;
const schema = { type: 'object', properties: { a: { type: 'string', description: text } } };
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: JSON.stringify({ a: text }) } };

const bodies: readonly (readonly [string, ChatSurface, object])[] = [
  ['texts', 'chat', { messages: many({ role: 'user', content: text }, { role: 'assistant', content: text }) }],
  [
    'parts, images and files',
    'chat',
    {
      messages: many({
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: image } },
          { type: 'file', file: { file_data: data } },
        ],
      }),
    },
  ],
  [
    'reasoning, calls and results',
    'chat',
    {
      messages: many(
        { role: 'user', content: text },
        { role: 'assistant', content: text, reasoning: text, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text }] },
      ),
      tools: many({ type: 'function', function: { name: 'f', parameters: schema } }),
    },
  ],
  [
    'calls and results',
    'messages',
    {
      max_tokens: 9,
      system: [{ type: 'text', text }],
      messages: many(
        { role: 'user', content: [{ type: 'text', text }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { a: text } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text }] }] },
      ),
      tools: many({ name: 'f', input_schema: schema }),
    },
  ],
  [
    'items',
    'responses',
    {
      store: false,
      input: many(
        { role: 'user', content: [{ type: 'input_text', text }] },
        { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: JSON.stringify({ a: text }) },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text }] },
      ),
      tools: many({ type: 'function', name: 'f', parameters: schema }),
    },
  ],
];

describe('a body that was read', () => {
  it.each(bodies)('with %s on the surface %s leaves nothing in the old generation', (_, surface, body) => {
    // Collections meet bodies that are being read, which moves 3 to 6 % of them.
    expect(keptShare({ model: 'demo/tiny', ...body }, (bytes) => readBody(bytes, { surface }))).toBeLessThan(0.1);
  });

  it('stays there as a whole with a transform of zod', () => {
    const list = z.object({ messages: z.array(z.unknown()).transform((values) => [...values]) });
    const [, , body = {}] = bodies[0] ?? [];
    const kept = keptShare(body, (bytes) => list.parse(JSON.parse(new TextDecoder().decode(bytes))));
    expect(kept).toBeGreaterThan(0.3);
  });
});
