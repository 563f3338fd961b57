/** What an engine may send in place of an answer. */
export interface HostileAnswer {
  readonly name: string;
  readonly type: 'text/event-stream' | 'application/json';
  readonly bytes: () => Buffer;
}

const million = 1_000_000;
const count = (many: number, item: (index: number) => string): string =>
  Array.from({ length: many }, (_, at) => item(at)).join('');
const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const call = (index: number, more: object): object => ({ tool_calls: [{ index, ...more }] });
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const good = '"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]';

const streams: Readonly<Record<string, () => string>> = {
  'a flood of comments': () => ': keep-alive\n\n'.repeat(million),
  'a flood of empty comments': () => ':\n'.repeat(4 * million),
  'a flood of blank lines': () => '\n'.repeat(8 * million),
  'a flood of carriage returns': () => '\r'.repeat(8 * million),
  'one event of a million lines': () => 'data: a\n'.repeat(million),
  'a million empty chunks': () => 'data: {}\n\n'.repeat(million),
  'a million lines that are no chunks': () => 'data: {\n\n'.repeat(million),
  'a line without end': () => `data: ${'x'.repeat(33 * million)}`,
  'a chunk of 30 MB': () => chunk({ content: 'x'.repeat(30 * million) }),
  'a chunk of 1 MB of escapes': () => chunk({ content: '\n'.repeat(500_000) }),
  'a chunk that is nested a million deep': () => `data: ${'['.repeat(million)}${']'.repeat(million)}\n\n`,
  'a chunk of a million choices': () => `data: {"choices":[${'{},'.repeat(600_000)}{}]}\n\n`,
  'tiny chunks': () => chunk({ content: 'x' }).repeat(50_000),
  'tiny chunks of text and reasoning in turn': () =>
    (chunk({ content: 'x' }) + chunk({ reasoning_content: 'y' })).repeat(25_000),
  'usage in every chunk': () => chunk({ content: 'x' }, { usage }).repeat(30_000),
  'fragments of one call without end': () =>
    chunk(call(0, { id: 'a', function: { name: 'f', arguments: '{"a":"' } })) +
    chunk(call(0, { function: { arguments: 'x' } })).repeat(50_000),
  'a new call in every chunk': () =>
    count(30_000, (at) => chunk(call(at, { id: `a${at}`, function: { name: 'f', arguments: '{}' } }))),
  'calls without a name': () => count(30_000, (at) => chunk(call(at, { id: `a${at}`, function: { arguments: '{}' } }))),
  'the name again with each fragment of large arguments': () =>
    chunk(call(0, { function: { name: 'f', arguments: `{"a":"${'x'.repeat(900_000)}"` } })) +
    chunk(call(0, { function: { name: 'f', arguments: ' ' } })).repeat(5000),
};

const wholes: Readonly<Record<string, () => string>> = {
  'an answer of 60 MB': () => `{${good},"x":"${'x'.repeat(60 * million)}"}`,
  'an answer of 7 MB of text': () => `{${good.replace('hi', 'hello '.repeat(1_200_000))}}`,
  'an answer with 20 million values': () => `{${good},"x":[${'{},'.repeat(20 * million)}{}]}`,
  'an answer that is nested ten million deep': () =>
    `{${good},"x":${'['.repeat(10 * million)}${']'.repeat(10 * million)}}`,
  'an answer of 300,000 calls': () =>
    `{"choices":[{"index":0,"message":{"tool_calls":[${count(300_000, (at) => `${at === 0 ? '' : ','}{"id":"a${at}","function":{"name":"f","arguments":"{}"}}`)}]},"finish_reason":"tool_calls"}]}`,
  'an answer of white space': () => ' '.repeat(60 * million),
  'an answer that is no JSON': () => 'x'.repeat(7 * million),
};

/** All of them; the bytes of each are made when they are wanted. */
export const hostileAnswers: readonly HostileAnswer[] = [
  ...Object.entries(streams).map(([name, text]) => ({
    ...{ name, type: 'text/event-stream' as const },
    bytes: () => Buffer.from(text()),
  })),
  ...Object.entries(wholes).map(([name, text]) => ({
    ...{ name, type: 'application/json' as const },
    bytes: () => Buffer.from(text()),
  })),
];
