import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatSurface } from '../../core/dialect.ts';
import type { Message } from '../../core/request.ts';
import { dialects } from './dialects.ts';

/** A piece of a history, by the names of its calls. */
type Piece =
  | { readonly kind: 'calls'; readonly calls: readonly string[] }
  | { readonly kind: 'result'; readonly call: string; readonly says?: string }
  | { readonly kind: 'image'; readonly call: string }
  | { readonly kind: 'words' | 'system'; readonly text: string };

const calls = (...names: readonly string[]): Piece => ({ kind: 'calls', calls: names });
const result = (call: string, says?: string): Piece => ({
  kind: 'result',
  call,
  ...(says === undefined ? {} : { says }),
});
const image = (call: string): Piece => ({ kind: 'image', call });
const words = (text: string): Piece => ({ kind: 'words', text });
const system = (text: string): Piece => ({ kind: 'system', text });

const saidBy = (piece: Extract<Piece, { kind: 'result' }>): string => piece.says ?? `says ${piece.call}`;
const png = 'data:image/png;base64,AA==';

const bodies: Readonly<Record<ChatSurface, (pieces: readonly Piece[]) => object>> = {
  chat: (pieces) => ({
    messages: pieces.map((piece) => {
      switch (piece.kind) {
        case 'calls': {
          const made = piece.calls.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }));
          return { role: 'assistant', content: null, tool_calls: made };
        }
        case 'result':
          return { role: 'tool', tool_call_id: piece.call, content: saidBy(piece) };
        case 'image':
          return { role: 'tool', tool_call_id: piece.call, content: [{ type: 'image_url', image_url: { url: png } }] };
        case 'words':
          return { role: 'user', content: piece.text };
        case 'system':
          return { role: 'system', content: piece.text };
      }
    }),
  }),
  messages: (pieces) => ({
    max_tokens: 10,
    messages: pieces.map((piece) => {
      switch (piece.kind) {
        case 'calls':
          return {
            role: 'assistant',
            content: piece.calls.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
          };
        case 'result':
          return { role: 'user', content: [{ type: 'tool_result', tool_use_id: piece.call, content: saidBy(piece) }] };
        case 'image': {
          const shown = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
          return { role: 'user', content: [{ type: 'tool_result', tool_use_id: piece.call, content: [shown] }] };
        }
        case 'words':
          return { role: 'user', content: piece.text };
        case 'system':
          return { role: 'system', content: piece.text };
      }
    }),
  }),
  responses: (pieces) => ({
    input: pieces.flatMap((piece): readonly object[] => {
      switch (piece.kind) {
        case 'calls':
          return piece.calls.map((id) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' }));
        case 'result':
          return [{ type: 'function_call_output', call_id: piece.call, output: saidBy(piece) }];
        case 'image':
          return [
            { type: 'function_call_output', call_id: piece.call, output: [{ type: 'input_image', image_url: png }] },
          ];
        case 'words':
          return [{ role: 'user', content: piece.text }];
        case 'system':
          return [{ role: 'system', content: piece.text }];
      }
    }),
  }),
};
const surfaces = ['chat', 'messages', 'responses'] as const;

const read = (surface: ChatSurface, pieces: readonly Piece[]): readonly Message[] =>
  dialects[surface].readRequest({ model: 'demo/tiny', ...bodies[surface](pieces) }).messages;

/** A history in short: the calls, and each result or text. */
const shown = (messages: readonly Message[]): readonly string[] =>
  messages.map((message) => {
    if (message.role === 'assistant') return `calls ${(message.toolCalls ?? []).map(({ id }) => id).join(' ')}`;
    const text =
      typeof message.content === 'string'
        ? message.content
        : message.content.map((part) => (part.type === 'text' ? part.text : 'IMAGE')).join('');
    return message.role === 'tool'
      ? `${message.toolCallId}: ${text}`
      : `${message.role} ${text.replaceAll('\n\n', ' ')}`;
  });

const missing = 'Error: this call has no result.';
const stray = 'Result of a tool call that is no longer part of this conversation:\n';
const histories: readonly (readonly [string, readonly Piece[], readonly string[]])[] = [
  [
    'words between two results',
    [calls('a', 'b'), result('a'), words('W'), result('b'), words('V')],
    ['calls a b', 'a: says a', 'b: says b', 'user W V'],
  ],
  [
    'words before the results',
    [calls('a', 'b'), words('W'), result('a'), result('b')],
    ['calls a b', 'a: says a', 'b: says b', 'user W'],
  ],
  [
    'results in another order',
    [calls('a', 'b'), result('b'), result('a'), words('W')],
    ['calls a b', 'a: says a', 'b: says b', 'user W'],
  ],
  ['the same result twice', [calls('a'), result('a'), result('a'), words('W')], ['calls a', 'a: says a', 'user W']],
  [
    'two results of one call',
    [calls('a'), result('a'), result('a', 'more'), words('W')],
    ['calls a', 'a: says a\n\nmore', 'user W'],
  ],
  [
    'a missing result',
    [calls('a', 'b'), result('b'), words('W')],
    ['calls a b', `a: ${missing}`, 'b: says b', 'user W'],
  ],
  ['no result at all', [calls('a'), words('W')], ['calls a', `a: ${missing}`, 'user W']],
  [
    'a result after further turns',
    [calls('a'), words('W'), calls('b'), result('b'), result('a'), words('V')],
    ['calls a', 'a: says a', 'user W', 'calls b', 'b: says b', 'user V'],
  ],
  ['a result before its call', [result('a'), calls('a'), words('W')], ['calls a', 'a: says a', 'user W']],
  [
    'a system message between',
    [calls('a', 'b'), result('a'), system('S'), result('b'), words('W')],
    ['calls a b', 'a: says a', 'b: says b', 'system S', 'user W'],
  ],
  [
    'an id that is used again',
    [calls('a'), result('a', '1'), calls('a'), result('a', '2'), words('W')],
    ['calls a', 'a: 1', 'calls a', 'a: 2', 'user W'],
  ],
  [
    'an id that is used again after an interruption',
    [calls('a'), words('W'), calls('a'), result('a', '2')],
    ['calls a', `a: ${missing}`, 'user W', 'calls a', 'a: 2'],
  ],
  [
    'two calls of one turn with one id',
    [calls('a', 'a'), result('a', '1'), result('a', '2')],
    ['calls a a', 'a: 1', 'a: 2'],
  ],
  [
    'images of results between words',
    [calls('a', 'b'), image('a'), words('W'), result('b')],
    ['calls a b', 'a: The result is shown in the next message.', 'b: says b', 'user Result of the tool call a:IMAGE W'],
  ],
  [
    'an image at the end',
    [calls('a'), image('a')],
    ['calls a', 'a: The result is shown in the next message.', 'user Result of the tool call a:IMAGE'],
  ],
  ['a result without a call', [result('x'), words('W')], [`user ${stray}says x W`]],
  ['several without calls', [result('x'), result('y'), words('W')], [`user ${stray}says x ${stray}says y W`]],
  ['an image without a call', [image('x'), words('W')], [`user ${stray}IMAGE W`]],
  [
    'a result without a call, between a call and its result',
    [calls('a'), result('x'), result('a'), words('W')],
    ['calls a', 'a: says a', `user ${stray}says x W`],
  ],
  ['a result without a call, at the end', [words('W'), result('x')], [`user W ${stray}says x`]],
  [
    'a result without a call, before a turn of the model',
    [words('V'), result('x'), calls('a'), result('a')],
    [`user V ${stray}says x`, 'calls a', 'a: says a'],
  ],
  [
    'a missing result at the end',
    [words('W'), calls('a', 'b'), result('b')],
    ['user W', 'calls a b', `a: ${missing}`, 'b: says b'],
  ],
  ['a call at the end, which may still get its result', [words('W'), calls('a')], ['user W', 'calls a']],
];

describe.each(surfaces)('calls and results on %s', (surface) => {
  it.each(histories)('%s', (_, pieces, expected) => {
    // Chat keeps the user's turns apart.
    const joined = shown(read(surface, pieces)).reduce<readonly string[]>((all, line) => {
      const last = all.at(-1);
      const isMore = surface === 'chat' && line.startsWith('user ') && last?.startsWith('user ') === true;
      return isMore ? [...all.slice(0, -1), `${String(last)} ${line.slice(5)}`] : [...all, line];
    }, []);
    expect(joined).toEqual(expected);
  });

  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const piece: fc.Arbitrary<Piece> = fc.oneof(
    fc.uniqueArray(name, { minLength: 1, maxLength: 3 }).map((names) => calls(...names)),
    name.map((call) => result(call)),
    name.map((call) => image(call)),
    fc.constantFrom('V', 'W').map(words),
    fc.constant(system('S')),
  );

  it('each call is followed by one result of its own, in the order of the calls, and nothing is lost', () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const history = read(surface, pieces);
        for (const [at, message] of history.entries()) {
          if (message.role !== 'assistant' || at === history.length - 1) continue;
          const ids = (message.toolCalls ?? []).map(({ id }) => id);
          const next = history.slice(at + 1, at + 1 + ids.length);
          expect(next.map((one) => (one.role === 'tool' ? one.toolCallId : one.role))).toEqual(ids);
        }
        const texts = shown(history).join('\n');
        for (const one of pieces) {
          if (one.kind === 'result') expect(texts).toContain(`says ${one.call}`);
          if (one.kind === 'words') expect(texts).toContain(one.text);
        }
      }),
    );
  });
});

it('a long history of one id takes no time that grows with its square', () => {
  const pieces = Array.from({ length: 20_000 }, () => [calls('a'), result('a')]).flat();
  expect(read('chat', [...pieces, ...Array.from({ length: 20_000 }, () => result('a'))])).toHaveLength(40_000);
});
