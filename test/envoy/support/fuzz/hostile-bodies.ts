/** What a body holds that no library would ever write. */
export interface HostileBody {
  readonly name: string;
  readonly bytes: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const messages = '"messages":[{"role":"user","content":"hi"}]';
const good = `"model":"test/vllm",${messages}`;
const withField = (field: string): string => `{${good},${field}}`;
const withMessages = (text: string): string => `{"model":"test/vllm","messages":${text}}`;
const withContent = (json: string): string => withMessages(`[{"role":"user","content":${json}}]`);
const nested = (levels: number, open: string, close: string): string => open.repeat(levels) + close.repeat(levels);
const deepObject = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join()}]`;
const weather = '{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}';
const withParameters = (json: string): string =>
  withField(`"tools":[{"type":"function","function":{"name":"f","parameters":${json}}}]`);
const withSchema = (json: string): string =>
  withField(`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":${json}}}`);

const depths = [200, 255, 256, 257, 300, 1000, 10_000, 100_000];

const texts: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'white space': ' \n\t ',
  ...Object.fromEntries(['null', 'true', '0', '""', '[]', '{}', '[{}]', 'NaN', 'undefined', '{'].map((t) => [t, t])),
  'a BOM before a good body': `\ufeff{${good}}`,
  'something behind a good body': `{${good}}]`,
  'two bodies': `{${good}}{${good}}`,
  'a trailing comma': `{${good},}`,
  'single quotes': `{'model':'test/vllm'}`,
  'a comment': `{${good}/* hello */}`,
  'a line feed in a string': withContent('"a\nb"'),
  'a NUL in a string': withContent('"a\u0000b"'),
  'an escaped NUL': withContent('"a\\u0000b"'),
  'a lone high surrogate': withContent('"a\\ud800b"'),
  'a lone low surrogate': withContent('"\\udc00"'),
  'surrogates the wrong way round': withContent('"\\udc00\\ud800"'),
  'a lone surrogate in a key': withField('"\\ud800":1'),
  'a lone surrogate in the model': `{"model":"test/\\ud800",${messages}}`,
  'the same key twice': `{"model":"no/such",${good},"stream":true,"stream":false}`,
  'messages twice, the last one bad': `{${good},"messages":null}`,
  __proto__: withField('"__proto__":{"stream":true,"model":"x"}'),
  '__proto__ that is no object': withField('"__proto__":5'),
  '__proto__ in a message': withMessages('[{"role":"user","content":"hi","__proto__":{"role":"system"}}]'),
  '__proto__ in a schema': withParameters(
    '{"__proto__":{"type":"object"},"properties":{"__proto__":{"type":"string"}}}',
  ),
  '__proto__ in logit_bias': withField('"logit_bias":{"__proto__":1}'),
  constructor: withField('"constructor":{"prototype":{"polluted":true}}'),
  toString: withField('"toString":"x","valueOf":null,"hasOwnProperty":1,"toJSON":{}'),
  'a model of Object': `{"model":"__proto__",${messages}}`,
  'a model named constructor': `{"model":"constructor",${messages}}`,
  'a role of Object': withMessages('[{"role":"constructor","content":"hi"}]'),
  'a type of Object': withContent('[{"type":"__proto__","text":"hi"}]'),
  'a tool named constructor': withField(
    '"tools":[{"type":"function","function":{"name":"constructor"}}],"tool_choice":"required"',
  ),
  'a thenable': withField('"then":{"then":1}'),
  ...Object.fromEntries(
    ['temperature', 'max_tokens', 'seed', 'n', 'top_k', 'logprobs', 'thinking_budget'].flatMap((field) =>
      ['1e999', '-1e999', '1e-999', '-0', '9'.repeat(400), '0.1e1', '9007199254740993'].map((value) => [
        `${field} of ${value.slice(0, 20)}`,
        withField(`"${field}":${value}`),
      ]),
    ),
  ),
  'a leading zero': withField('"n":01'),
  hexadecimal: withField('"n":0x1'),
  Infinity: withField('"n":Infinity'),
  ...Object.fromEntries(
    depths.flatMap((levels) => [
      [`${levels} lists`, nested(levels, '[', ']')],
      [`${levels} lists, never closed`, '['.repeat(levels)],
      [`an unknown field ${levels} deep`, withField(`"x":${nested(levels, '[', ']')}`)],
      [`content ${levels} deep`, withContent(nested(levels, '[', ']'))],
      [`a message ${levels} deep`, withMessages(nested(levels, '[', ']'))],
      [`parameters ${levels} deep`, withParameters(deepObject(levels))],
      [`a schema ${levels} deep`, withSchema(deepObject(levels))],
      [`logit_bias ${levels} deep`, withField(`"logit_bias":${deepObject(levels)}`)],
    ]),
  ),
  'ten thousand tools': withField(`"tools":${list(10_000, weather)}`),
  'ten thousand broken tools': withField(`"tools":${list(10_000, '{}')}`),
  'a thousand tools of one name': withField(`"tools":${list(1000, weather)}`),
  'a format without its schema': withField(
    '"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true}}',
  ),
  'a hundred thousand empty messages': withMessages(list(100_000, '{}')),
  'a hundred thousand nulls': withMessages(list(100_000, 'null')),
  'a hundred thousand lists': withMessages(list(100_000, '[]')),
  'ten thousand messages': withMessages(list(10_000, '{"role":"user","content":"hi"}')),
  'a hundred thousand parts': withContent(list(100_000, '{}')),
  'ten thousand good parts': withContent(list(10_000, '{"type":"text","text":"x"}')),
  'ten thousand broken calls': withMessages(`[{"role":"assistant","tool_calls":${list(10_000, '{}')}}]`),
  'a million broken calls': withMessages(`[{"role":"assistant","tool_calls":${list(1_000_000, '{}')}}]`),
  'a million empty messages': withMessages(list(1_000_000, '{}')),
  'a hundred thousand stops': withField(`"stop":${list(100_000, '1')}`),
  'a hundred thousand biases': withField(
    `"logit_bias":{${Array.from({ length: 100_000 }, (_, index) => `"${index}":"x"`).join()}}`,
  ),
  'two hundred thousand biases': withField(
    `"logit_bias":{${Array.from({ length: 200_000 }, (_, index) => `"${index}":"x"`).join()}}`,
  ),
  'a bias with a long name': withField(`"logit_bias":{"${'x'.repeat(100_000)}":1000}`),
  'a hundred thousand unknown fields': `{${good},${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`,
  'a hundred thousand inert fields': `{${good},${list(100_000, '"provider":0').slice(1, -1)}}`,
  'a megabyte of text': withContent(`"${'lorem ipsum '.repeat(90_000)}"`),
  'a megabyte of escapes': withContent(`"${'\\u0041'.repeat(180_000)}"`),
  'a megabyte of white space': `{${' '.repeat(1_000_000)}${good}}`,
  'a model of a megabyte': `{"model":"${'a'.repeat(1_000_000)}",${messages}}`,
  'a model of a thousand suffixes': `{"model":"test/vllm${':nitro'.repeat(1000)}",${messages}}`,
  'a role of a megabyte': withMessages(`[{"role":"${'r'.repeat(1_000_000)}","content":""}]`),
  'a key of a megabyte': withField(`"${'k'.repeat(1_000_000)}":1`),
  'an enormous number': withField(`"seed":${'1'.repeat(1_000_000)}`),
};

const bytes: Readonly<Record<string, Buffer>> = {
  'invalid UTF-8': Buffer.concat([Buffer.from(`{${good},"x":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
  'an overlong slash': Buffer.concat([Buffer.from(`{${good},"x":"`), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  'half a character': Buffer.concat([Buffer.from(`{${good},"x":"`), Buffer.from([0xe2, 0x82])]),
  'a surrogate in UTF-8': Buffer.concat([Buffer.from(withContent('"').slice(0, -3)), Buffer.from([0xed, 0xa0, 0x80])]),
  'UTF-16': Buffer.from(`{${good}}`, 'utf16le'),
  'gzip that nobody announced': Buffer.from('1f8b0800000000000003ab56ca48cdc9c957b2524a2c2850aa0500', 'hex'),
  zeros: Buffer.alloc(100_000),
};

const types = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  '',
];

/** All of them. A good body under another content type is among them: what it holds decides. */
export const hostileBodies: readonly HostileBody[] = [
  ...Object.entries(texts).map(([name, body]) => ({ name, bytes: Buffer.from(body) })),
  ...Object.entries(bytes).map(([name, body]) => ({ name, bytes: body })),
  ...types.map((type) => ({
    name: `a good body as "${type}"`,
    bytes: Buffer.from(`{${good}}`),
    headers: { 'content-type': type },
  })),
];
