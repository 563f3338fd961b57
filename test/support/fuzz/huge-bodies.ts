/** A request body of up to 30 MB; its bytes are made when they are wanted. */
export interface HugeBody {
  readonly name: string;
  readonly surface: 'chat' | 'messages';
  readonly bytes: () => Buffer;
}

/** Small enough to be read, and not refused for the number of its values. */
const usual = 1_600_000;
const largest = 30_000_000;
const head = '"model":"test/model","max_tokens":4,"messages":[{"role":"user","content":"hi"}]';

/** As many items as go into a body, or as are wanted. */
function fill(
  before: string,
  item: (index: number) => string,
  { after = '', most = Infinity, size = usual } = {},
): Buffer {
  const parts: string[] = [];
  let left = size - before.length - after.length;
  for (let index = 0; index < most; index += 1) {
    const text = (index === 0 ? '' : ',') + item(index);
    left -= text.length;
    if (left < 0) break;
    parts.push(text);
  }
  return Buffer.from(before + parts.join('') + after);
}

const always = (text: string) => (): string => text;
const withMessages = '{"model":"test/model","max_tokens":4,"messages":[';
const withParameters = `{${head},"tools":[{"type":"function","function":{"name":"f","parameters":`;
const withSchema = `{${head},"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":`;

const chat: Readonly<Record<string, () => Buffer>> = {
  'a million messages': () =>
    fill(withMessages, always('{"role":"user","content":""}'), { after: ']}', size: largest }),
  'many parts of one message': () =>
    fill(`${withMessages}{"role":"user","content":[`, always('{"type":"text","text":""}'), { after: ']}]}' }),
  'many calls': () =>
    fill(
      `${withMessages}{"role":"assistant","tool_calls":[`,
      always('{"id":"a","function":{"name":"f","arguments":""}}'),
      {
        after: ']}]}',
      },
    ),
  'a text of 30 MB': () => Buffer.from(`${withMessages}{"role":"user","content":"${'x'.repeat(30_000_000)}"}]}`),
  'many tools': () =>
    fill(`{${head},"tools":[`, always('{"type":"function","function":{"name":"f"}}'), { after: ']}' }),
  'many tools with large schemas': () =>
    fill(
      `{${head},"tools":[`,
      (at) =>
        `{"type":"function","function":{"name":"f${at}","parameters":{"type":"object","properties":{${Array.from({ length: 600 }, (_, k) => `"k${k}":{"type":"string"}`).join()}}}}}`,
      { after: ']}', most: 1000 },
    ),
  'a tool with a schema of many fields': () =>
    fill(`${withParameters}{"properties":{`, (at) => `"k${at}":{}`, { after: '}}}}]}' }),
  'an answer’s schema of many fields': () =>
    fill(`${withSchema}{"properties":{`, (at) => `"k${at}":{}`, { after: '}}}}}' }),
  'a schema with thousands of patterns': () =>
    fill(`${withSchema}{"properties":{`, (at) => `"k${at}":{"pattern":"^(a+)+$"}`, { after: '}}}}}' }),
  'a schema that is nested a million deep': () =>
    Buffer.from(`${withParameters}${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}}}]}`),
  'many biases': () => fill(`{${head},"logit_bias":{`, (at) => `"${at}":1`, { after: '}}' }),
  'many unknown fields': () => fill(`{${head},`, (at) => `"k${at}":1`, { after: '}' }),
  'lists without end': () => Buffer.from(`{${head},"x":${'['.repeat(3_000_000)}${']'.repeat(3_000_000)}}`),
  'lists that never close': () => Buffer.from('['.repeat(6_000_000)),
  'a name of 30 MB': () =>
    Buffer.from(`{"model":"${'a'.repeat(30_000_000)}","messages":[{"role":"user","content":"x"}]}`),
};

const messages: Readonly<Record<string, () => Buffer>> = {
  'many messages': () => fill(withMessages, always('{"role":"user","content":"a"}'), { after: ']}' }),
  'many blocks': () =>
    fill(`${withMessages}{"role":"user","content":[`, always('{"type":"text","text":"a"}'), { after: ']}]}' }),
  'many blocks of the system prompt': () =>
    fill(`{${head},"system":[`, always('{"type":"text","text":"a"}'), { after: ']}' }),
  'many uses of tools': () =>
    fill(
      `${withMessages}{"role":"assistant","content":[`,
      (at) => `{"type":"tool_use","id":"a${at}","name":"f","input":{}}`,
      {
        after: ']}]}',
      },
    ),
  'many searches without results': () =>
    fill(
      `${withMessages}{"role":"assistant","content":[`,
      (at) => `{"type":"server_tool_use","id":"a${at}","name":"web_search","input":{}}`,
      {
        after: ']}]}',
      },
    ),
};

/** All of them. */
export const hugeBodies: readonly HugeBody[] = [
  ...Object.entries(chat).map(([name, bytes]) => ({ name, surface: 'chat' as const, bytes })),
  ...Object.entries(messages).map(([name, bytes]) => ({ name, surface: 'messages' as const, bytes })),
];
