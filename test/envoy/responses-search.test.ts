// @suite long
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { canary, startWeir, type Weir } from '../support/weir.ts';
import { type SearchServer, startSearchServer } from './support/search-server.ts';

type Item = OpenAI.Responses.ResponseInputItem;
type Output = OpenAI.Responses.ResponseOutputItem;
type Json = Readonly<Record<string, unknown>>;

let engine: ProgrammableEngine;
let search: SearchServer;
let weir: Weir;
let folder: string;

/** USD, of one search. */
const price = 0.005;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha' });
  search = await startSearchServer();
  folder = await mkdtemp(join(tmpdir(), 'weir-keys-'));
  const keyFile = join(folder, 'seal.key');
  await writeFile(keyFile, randomBytes(32).toString('base64'));
  weir = await startWeir({
    ...{ engines: [engine], unlimited: true },
    env: {
      ...{ WEIR_RESPONSES: 'stateless', WEIR_SEAL_KEY_FILE: keyFile },
      ...{ WEIR_WEB_SEARCH: `searxng:${search.url}`, WEIR_WEB_SEARCH_PRICE: String(price) },
    },
  });
});
beforeEach(() => {
  search.reset();
  engine.reset();
});
afterAll(async () => {
  await weir.close();
  await search.close();
  await rm(folder, { recursive: true });
  await engine.close();
});

const told = [
  { call: [{ name: 'web_search', arguments: { query: 'the answer' } }] },
  { say: 'It is known. The answer is 41 [cite:1]. Or 42, says b [cite:2].' },
];
const question: Item = {
  role: 'user',
  content: `${canary} What is it? [[demo ${JSON.stringify({ reasoning: 'never', script: told })}]]`,
};
const tools: OpenAI.Responses.Tool[] = [{ type: 'web_search' }];

/** The messages that the engine was asked with last. */
function askedMessages(): readonly Json[] {
  const { messages } = Object(engine.requests().at(-1)?.body) as { readonly messages?: readonly Json[] };
  return messages ?? [];
}

interface Annotation extends Json {
  readonly start_index: number;
  readonly end_index: number;
  readonly url: string;
}

const annotationsOf = (output: readonly Output[]): readonly (readonly [said: string, url: string])[] =>
  output.flatMap((item) =>
    item.type === 'message'
      ? item.content.flatMap((part) =>
          part.type === 'output_text'
            ? (part.annotations as unknown as readonly Annotation[]).map(
                ({ start_index: start, end_index: end, url }) => [part.text.slice(start, end), url] as const,
              )
            : [],
        )
      : [],
  );

test.each([false, true])(
  'a search is made in the middle of a response, and goes on with the conversation, stream: %s',
  async (stream) => {
    const client = weir.client();
    const params = { model: 'test/model', input: [question], tools };
    const first = stream
      ? await client.responses.stream(params).finalResponse()
      : await client.responses.create(params);
    const output: readonly Output[] = first.output;
    expect(output.map(({ type }) => type)).toEqual(['web_search_call', 'message']);
    const [call] = output;
    expect(call).toMatchObject({ status: 'completed', action: { type: 'search', query: 'the answer' } });
    const { sources } = (call as unknown as { readonly action: { readonly sources: readonly Json[] } }).action;
    expect(sources.length).toBeGreaterThan(1);
    for (const source of sources) {
      expect(source).toMatchObject({
        type: 'url',
        encrypted_content: expect.stringMatching(/^[\w-]{80,}$/) as unknown,
      });
    }
    expect(first.output_text).toBe('It is known. The answer is 41. Or 42, says b.');
    expect(annotationsOf(output)).toEqual([
      ['The answer is 41', sources[0]?.['url']],
      ['Or 42, says b', sources[1]?.['url']],
    ]);
    expect(first.tool_usage?.web_search.num_requests).toBe(1);
    await weir.settled();
    const row = (await weir.ledger()).find(({ id }) => id === first.id);
    expect(row).toMatchObject({ surface: 'responses', outcome: 'completed', web_searches: 1 });
    expect(Number(row?.['cost'])).toBeGreaterThan(price);

    const read = askedMessages();
    engine.reset();
    const later: Item = {
      role: 'user',
      content: `${canary} Go on. [[demo {"reasoning": "never", "content": "Yes [cite:2]."}]]`,
    };
    const second = await client.responses.create({ ...params, input: [question, ...(output as Item[]), later] });
    expect(annotationsOf(second.output)).toEqual([['Yes', sources[1]?.['url']]]);
    // The model has the search and what it had written as it was, so that the engine's cache has it, too.
    const again = askedMessages();
    const withoutIds = (messages: readonly Json[]): string =>
      JSON.stringify(messages).replaceAll(/(srvtoolu|ws)_[\w-]+/g, 'id');
    expect(withoutIds(again.slice(0, read.length))).toBe(withoutIds(read));
    expect(again[read.length]).toMatchObject({ role: 'assistant', content: told[1]?.say });
  },
);

test('with a client that drops what was found, the conversation goes on without it', async () => {
  const client = weir.client();
  const first = await client.responses.create({ model: 'test/model', input: [question], tools });
  const bare = first.output.map((item): Item =>
    item.type === 'web_search_call'
      ? { id: item.id, type: item.type, status: item.status, action: { type: 'search', query: 'the answer' } }
      : (item as Item),
  );
  engine.reset();
  const later: Item = { role: 'user', content: `${canary} Go on.` };
  const second = await client.responses.create({ model: 'test/model', input: [question, ...bare, later] });
  expect(second.status).toBe('completed');
  expect(askedMessages().map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
});
