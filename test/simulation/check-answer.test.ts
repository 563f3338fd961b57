import { expect, it } from 'vitest';
import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import { differenceOf } from './check-answer.ts';
import type { ReceivedChoice } from './received-choice.ts';

const expected = (text: string, json?: string): ChoiceAnswer =>
  ({
    ...{ content: text, reasoning: '', refusal: '', finishReason: 'stop' },
    calls: json === undefined ? [] : [{ name: 'look', arguments: json }],
  }) as unknown as ChoiceAnswer;

const received = (text: string, json?: string): ReceivedChoice => ({
  ...{ text, reasoning: '', refusal: '', roles: 1, finishes: 1, finish: undefined },
  calls: new Map(json === undefined ? [] : [[0, { name: 'look', arguments: json }]]),
});

const plain = { search: undefined, maxTokens: undefined };
const messages = { surface: 'messages', stream: true, ...plain } as const;
const chat = { surface: 'chat', stream: true, ...plain } as const;
const responses = { surface: 'responses', stream: false, ...plain } as const;
const inOnePiece = { surface: 'messages', stream: false, ...plain } as const;

it.each([
  ['the text of a whole answer', chat, true, received('ab'), expected('ab'), true],
  ['a beginning as a whole answer', chat, true, received('a'), expected('ab'), false],
  ['a beginning of an answer that broke off', chat, false, received('a'), expected('ab'), true],
  ['another beginning', chat, false, received('b'), expected('ab'), false],
  ['arguments written with other spaces', chat, true, received('', '{"a": 1}'), expected('', '{"a":1}'), true],
  ['arguments that the cap has cut, in chat', chat, true, received('', '{"a"'), expected('', '{"a"'), true],
  ['fewer of them', chat, true, received('', '{"'), expected('', '{"a"'), false],
  ['the same in a response in one piece', responses, true, received('', '{"a"'), expected('', '{"a"'), true],
  ['the same in a messages stream', messages, true, received('', '{"a"'), expected('', '{"a"'), true],
  ['an empty object there', messages, true, received('', '{}'), expected('', '{"a"'), false],
  ['an empty object in one piece', inOnePiece, true, received('', '{}'), expected('', '{"a"'), true],
  ['what was cut, in one piece', inOnePiece, true, received('', '{"a"'), expected('', '{"a"'), false],
  ['a beginning of arguments', messages, false, received('', '{"a"'), expected('', '{"a":1}'), true],
  ['a call that was not asked for', messages, false, received('', '{}'), expected(''), false],
] as const)('compares with the expected answer %s', (_, event, isWhole, choice, answer, isSame) => {
  const finish = { chat: 'stop', messages: 'end_turn', responses: 'completed' }[event.surface];
  expect(differenceOf({ ...choice, finish }, answer, { event, isWhole }) === undefined).toBe(isSame);
  expect(differenceOf({ ...choice, finish: 'length' }, answer, { event, isWhole }) === undefined).toBe(
    isSame && !isWhole,
  );
});

it.each([
  ['whole', 'I cannot.', 'content_filter', true],
  ['shorter', 'I can', 'content_filter', false],
  ['whole, as if it were an answer', 'I cannot.', 'stop', false],
])('compares with the expected refusal one that is %s', (_, refusal, finish, isSame) => {
  const choice = { ...received(''), refusal, finish };
  const answer = { ...expected(''), refusal: 'I cannot.' };
  expect(differenceOf(choice, answer, { event: chat, isWhole: true }) === undefined).toBe(isSame);
});
