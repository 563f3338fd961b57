import { type HostileBody, hostileBodies } from './hostile-bodies.ts';

const model = '"model":"test/vllm"';
const good = `${model},"input":"hi"`;
const withField = (field: string): string => `{${good},${field}}`;
const withItems = (...items: readonly string[]): string => `{${model},"input":[${items.join()}]}`;
const copies = (count: number, item: string): string => Array.from({ length: count }, () => item).join();
const many = (count: number, item: string): string => withItems(copies(count, item));
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const list = (count: number, item: string): string => `[${copies(count, item)}]`;
const user = '{"role":"user","content":"hi"}';
const cited = (start: string, end: string): string =>
  `{"type":"url_citation","url":"x:y","title":"","start_index":${start},"end_index":${end},"encrypted_index":"xx"}`;
const answer = (annotations: string): string =>
  `{"role":"assistant","content":[{"type":"output_text","text":"hi","annotations":${annotations}}]}`;
const reasoning = (sealed: string): string =>
  `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"${sealed}"}`;
const call = '{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}';
const result = (output: string): string => `{"type":"function_call_output","call_id":"call_1","output":${output}}`;
const search = (sources: string): string =>
  `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q","sources":${sources}}}`;
const namespace = (levels: number): string =>
  levels === 0
    ? '{"type":"function","name":"f","parameters":{}}'
    : `{"type":"namespace","name":"n","description":"","tools":[${namespace(levels - 1)}]}`;

/** What only this format has. */
const texts: Readonly<Record<string, string>> = {
  'an answer that is not stored': withField('"previous_response_id":"resp_AAAAAAAAAAAAAAAAAAAAAA"'),
  'an answer that is no id': withField('"previous_response_id":{"__proto__":[]}'),
  'an id of a megabyte': withField(`"previous_response_id":"${'r'.repeat(1_000_000)}"`),
  'a conversation that is not stored': withField('"conversation":{"id":"conv_1"}'),
  'a prompt that is not stored': withField('"prompt":{"id":"pmpt_1"}'),
  'an answer in the background': withField('"background":true'),
  'ten thousand references': many(10_000, '{"type":"item_reference","id":"msg_1"}'),
  'a hundred thousand ids': many(100_000, '{"id":"msg_1"}'),
  'a million items of nothing': many(1_000_000, '{}'),
  'ten thousand items of one turn': many(10_000, call),
  'ten thousand results of one call': withItems(call, copies(10_000, result('"x"'))),
  'a result of a hundred thousand parts': withItems(call, result(list(100_000, '{"type":"input_text","text":"x"}'))),
  'a result without its call': withItems(user, result('"x"')),
  'a sealed trace that is none': withItems(user, reasoning('AAAA')),
  'a sealed trace of a megabyte': withItems(user, reasoning('A'.repeat(1_000_000))),
  'ten thousand sealed traces': many(10_000, reasoning('A'.repeat(120))),
  'a citation beyond the text': withItems(user, answer(`[${cited('0', '9007199254740991')}]`)),
  'a citation before the text': withItems(user, answer(`[${cited('-1', '-1')}]`)),
  'a hundred thousand citations': withItems(user, answer(list(100_000, cited('1', '1')))),
  'a search of a hundred thousand sources': withItems(user, search(list(100_000, '{"encrypted_content":"AAAA"}'))),
  'ten thousand searches': many(10_000, search('[{"encrypted_content":"AAAA"}]')),
  ...Object.fromEntries(
    [2, 100, 1000].map((levels) => [`tools ${levels} deep`, withField(`"tools":[${namespace(levels)}]`)]),
  ),
  'a grammar of a megabyte': withField(
    `"tools":[{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"${'x'.repeat(1_000_000)}"}}]`,
  ),
  'a hundred thousand includes': withField(`"include":${list(100_000, '"reasoning.encrypted_content"')}`),
  'includes that are deep': withField(`"include":${nested(10_000)}`),
  'metadata that is deep': withField(`"metadata":${nested(10_000)}`),
  'instructions of a megabyte': withField(`"instructions":"${'lorem ipsum '.repeat(90_000)}"`),
};

/** The hostile bodies of the chat format with their conversation as items, and what only the responses format has. */
export const hostileResponses: readonly HostileBody[] = [
  ...hostileBodies.map(({ bytes, ...rest }) => ({
    ...rest,
    bytes: Buffer.from(bytes.toString('latin1').replaceAll('"messages":', '"input":'), 'latin1'),
  })),
  ...Object.entries(texts).map(([name, body]) => ({ name, bytes: Buffer.from(body) })),
];
