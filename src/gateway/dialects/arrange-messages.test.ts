import { describe, expect, test } from 'vitest';
import type { Message } from '../../core/request.ts';
import { arrangeMessages } from './arrange-messages.ts';

const system = (content: string): Message => ({ role: 'system', content });
const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const calling: Message = { role: 'assistant', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] };
const result: Message = { role: 'tool', toolCallId: 'c', content: 'r' };
const wrapped = (text: string): string => `<system-message>\n${text}\n</system-message>`;

const leading = (messages: readonly Message[]): readonly Message[] =>
  arrangeMessages(messages, { systemMessages: 'Leading', images: 'sent' });

describe('for a template that takes one leading system message', () => {
  test.each<[string, readonly Message[], readonly Message[]]>([
    ['one stays as it is', [system('a'), user('b')], [system('a'), user('b')]],
    ['leading ones are joined', [system('a'), system('b'), user('c')], [system('a\n\nb'), user('c')]],
    [
      'one after a user turn becomes part of that turn',
      [system('a'), user('b'), system('c'), assistant('d'), user('e')],
      [system('a'), user(`b\n\n${wrapped('c')}`), assistant('d'), user('e')],
    ],
    [
      'one after an answer becomes part of the next user turn',
      [user('a'), assistant('b'), system('c'), user('d')],
      [user('a'), assistant('b'), user(`${wrapped('c')}\n\nd`)],
    ],
    [
      'the last one is a turn of its own',
      [user('a'), assistant('b'), system('c')],
      [user('a'), assistant('b'), user(wrapped('c'))],
    ],
    [
      'two between two answers are one turn, in their order',
      [user('a'), assistant('b'), system('c'), system('d'), assistant('e')],
      [user('a'), assistant('b'), user(`${wrapped('c')}\n\n${wrapped('d')}`), assistant('e')],
    ],
    [
      'one between a call and its result waits for the result',
      [user('a'), calling, system('s'), result, assistant('b')],
      [user('a'), calling, result, user(wrapped('s')), assistant('b')],
    ],
    ['one without text is left out', [user('a'), system(''), user('b')], [user('a'), user('b')]],
    ['a conversation of system messages alone is one', [system('a'), system('b')], [system('a\n\nb')]],
  ])('%s', (_, messages, expected) => {
    expect(leading(messages)).toEqual(expected);
  });

  test('a turn with an image keeps it', () => {
    const image = { type: 'image', url: 'https://example.com/a.png' } as const;
    expect(leading([{ role: 'user', content: [image] }, system('s')])).toEqual([
      { role: 'user', content: [image, { type: 'text', text: '\n\n' }, { type: 'text', text: wrapped('s') }] },
    ]);
  });
});

test('a hundred thousand of them are put in their places at once', () => {
  const later = Array.from({ length: 100_000 }, () => system('s'));
  const [turn] = leading([user('a'), ...later]);
  expect(turn?.content).toHaveLength('a'.length + later.length * `\n\n${wrapped('s')}`.length);
});

test('for any other template nothing is moved', () => {
  const messages = [system('a'), system('b'), user('c'), system('d')];
  expect(arrangeMessages(messages, { systemMessages: 'Anywhere', images: 'sent' })).toEqual(messages);
});

test('a model that takes no images gets a description of the images that a tool returned', () => {
  const content = [
    { type: 'text', text: 'Result: ' } as const,
    { type: 'image', url: 'data:image/png;base64,AA', alternative: '[An image stood here.]' } as const,
  ];
  const model = { systemMessages: 'Anywhere', images: 'described' } as const;
  expect(arrangeMessages([{ role: 'user', content }], model)).toEqual([user('Result: [An image stood here.]')]);
});
