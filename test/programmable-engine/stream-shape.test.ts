import { gunzipSync } from 'node:zlib';

import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import type { Behaviour, BehaviourInput } from './behaviour.ts';
import { startProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr } from './json-value.ts';
import { rawExchange } from './raw-exchange.ts';
import { eventJson, joinedField } from './stream-events.ts';

const engine = await startProgrammableEngine();
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

const tools = ['look', 'find'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { q: { type: 'string' } } } },
}));
const ask = async (
  behaviour: BehaviourInput,
  body: JsonObject = {},
): Promise<{ readonly text: string; readonly raw: Awaited<ReturnType<typeof rawExchange>> }> => {
  engine.set(behaviour);
  const raw = await rawExchange(engine.url, {
    model: 'demo-chat',
    stream: true,
    messages: [{ role: 'user', content: 'go' }],
    ...body,
  });
  return { raw, text: raw.body.toString() };
};
const lastChoice = (text: string): JsonObject =>
  objectOr(arrayOr(eventJson(text).findLast((chunk) => arrayOr(chunk['choices']).length > 0)?.['choices'])[0]);

describe('framing', () => {
  test.each([
    [{ lineEnding: 'crlf' }, /^data: [^\n]*\r\n\r\ndata: /u],
    [{ lineEnding: 'cr' }, /^data: [^\n]*\r\rdata: /u],
    [{ dataSpace: false }, /^data:\{/u],
    [{ sseFields: true }, /^event: message\nid: 1\nretry: 1000\ndata: \{/u],
    [{ multilineData: true }, /^data: \{\ndata:  "id"/u],
    [{ chunkBytes: 1 }, /^data: /u],
    [{ chunkBytes: 7 }, /^data: /u],
    [{ chunkBytes: 5000 }, /^data: /u],
    [{ eventsPerWrite: 9 }, /^data: /u],
    [{ deltaTokens: 6 }, /"reasoning_content":"Let me think about \\""/u],
    [{ deltaChars: 1 }, /"reasoning_content":"L"/u],
    [{ deltaChars: 1, unicode: true }, /"content":"\p{Extended_Pictographic}"/u],
    [{ keepAliveMs: 1, firstTokenDelayMs: 10, keepAlive: 'blank-line' }, /^\n+data: /u],
    [{ keepAliveMs: 1, firstTokenDelayMs: 10 }, /^(?:: keep-alive\n\n)+data: /u],
    [{ lineEnding: 'crlf', dataSpace: false, chunkBytes: 3, unicode: true }, /^data:\{[^\n]*\r\n\r\n/u],
  ] satisfies readonly (readonly [BehaviourInput, RegExp])[])(
    '%j is laid out so, and does not change what is said',
    async (behaviour, layout) => {
      const ideal = (await ask({ unicode: 'unicode' in behaviour })).text;
      const { text, raw } = await ask(behaviour);
      expect(raw.whole).toBe(true);
      expect(text).toMatch(layout);
      expect(joinedField(text, 'content')).toBe(joinedField(ideal, 'content'));
      expect(joinedField(text, 'reasoning_content')).toBe(joinedField(ideal, 'reasoning_content'));
    },
  );

  test.each([
    [{ headersDelayMs: 30 }, 30],
    [{ firstTokenDelayMs: 30 }, 30],
    [{ prefillTokensPerSecond: 100 }, 40],
    [{ firstTokenDelayMs: 10, prefillTokensPerSecond: 100 }, 50],
    [{ prefillTokensPerSecond: 100, cachedTokens: 2 }, 20],
    [{ tokenDelayMs: 3, words: 5, reasoning: 'never' }, 15],
  ] satisfies readonly (readonly [BehaviourInput, number])[])(
    '%j takes at least %i ms, streamed or not',
    async (behaviour, minMs) => {
      for (const stream of [true, false]) {
        const from = performance.now();
        await ask(behaviour, { stream });
        // Timers of Node may fire up to a millisecond early.
        expect(performance.now() - from).toBeGreaterThan(minMs - 2);
      }
    },
  );

  test('pieces are as long as asked, across event borders, and events are glued as asked', async () => {
    const pieces = (await ask({ chunkBytes: 700 })).raw.chunkSizes;
    expect(new Set(pieces.slice(0, -1))).toEqual(new Set([700]));
    const glued = (await ask({ eventsPerWrite: 1000 })).raw.chunkSizes;
    expect(glued).toHaveLength(1);
  });

  test('gzip compresses, and every event is there', async () => {
    const ideal = (await ask({})).text;
    const { raw } = await ask({ gzip: true });
    expect(raw.headers).toContain('content-encoding: gzip');
    expect(joinedField(gunzipSync(raw.body).toString(), 'content')).toBe(joinedField(ideal, 'content'));
  });

  test('unicode answers hold characters of two, three and four bytes', async () => {
    const said = joinedField((await ask({ unicode: true, words: 200 })).text, 'content');
    expect(said).toMatch(/é|ß/u);
    expect(said).toMatch(/水|€/u);
    expect(said).toMatch(/\p{Extended_Pictographic}/u);
  });
});

describe('usage', () => {
  const details = { prompt_tokens_details: { cached_tokens: 4 } };
  const shapes: { readonly [K in NonNullable<Behaviour['usage']>]: unknown } = {
    honest: { ...details, completion_tokens_details: { reasoning_tokens: 5 }, completion_tokens: 25, total_tokens: 33 },
    absent: undefined,
    null: null,
    zeros: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    'total-mismatch': { total_tokens: 50 },
    'no-details': { prompt_tokens: 8, completion_tokens: 25, total_tokens: 33 },
    'null-details': { prompt_tokens_details: null, completion_tokens_details: null },
    'reasoning-excluded': { completion_tokens: 20, total_tokens: 33 },
    'reasoning-top-level': { reasoning_tokens: 5 },
    'cached-top-level': { cached_tokens: 4 },
    'cache-hit-miss': { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 4 },
    'cached-above-prompt': { prompt_tokens_details: { cached_tokens: 13 } },
    'no-cached-when-zero': details,
  };
  const body = {
    max_tokens: 25,
    thinking: { type: 'enabled', budget_tokens: 5 },
    stream_options: { include_usage: true },
  };

  for (const [name, expected] of Object.entries(shapes)) {
    test(`is ${name}, on a stream and in JSON`, async () => {
      const usage = Object.keys(shapes).find((one): one is keyof typeof shapes => one === name);
      if (usage === undefined) throw new Error('not a shape');
      const { text } = await ask({ usage, cachedTokens: 4 }, body);
      const last = eventJson(text).at(-1) ?? {};
      const { stream_options: _, ...plain } = body;
      const json = objectOr(JSON.parse((await ask({ usage, cachedTokens: 4 }, { ...plain, stream: false })).text));
      for (const found of [last['usage'], json['usage']]) {
        if (typeof expected === 'object' && expected !== null) expect(found).toMatchObject(expected);
        else if (expected === null) expect(found).toBeNull();
      }
      if (expected === undefined) {
        expect('usage' in json).toBe(false);
        expect(eventJson(text).some((chunk) => chunk['usage'] !== null && 'usage' in chunk)).toBe(false);
      }
    });
  }

  const withUsage = (text: string): readonly number[] =>
    eventJson(text).flatMap((chunk, index) =>
      objectOr(chunk['usage'])['total_tokens'] === undefined ? [] : [index - eventJson(text).length],
    );

  test.each([
    ['asked', {}, []],
    ['asked', { stream_options: { include_usage: true } }, [-1]],
    ['own-chunk', {}, [-1]],
    ['finish-chunk', {}, [-1]],
    ['finish-chunk', { stream_options: { include_usage: true } }, [-1]],
    ['x_groq', {}, [-1]],
    ['choice', {}, []],
  ] as const)('is where %s puts it, with %j', async (usageWhere, options, places) => {
    const { text } = await ask({ usageWhere }, options);
    expect(withUsage(text)).toEqual(places);
    const last = lastChoice(text);
    expect(last['finish_reason']).toBe('stop');
    expect('usage' in last).toBe(usageWhere === 'choice');
    expect(text.includes('x_groq')).toBe(usageWhere === 'x_groq');
    expect(eventJson(text).at(-1)?.['choices']).toHaveLength(
      places.length > 0 && (usageWhere === 'asked' || usageWhere === 'own-chunk') ? 0 : 1,
    );
  });

  test('is on every chunk when told, and running usage can be withheld', async () => {
    const every = (await ask({ usageWhere: 'every-chunk' })).text;
    expect(withUsage(every)).toHaveLength(eventJson(every).length);
    const options = { stream_options: { include_usage: true, continuous_usage_stats: true } };
    expect(withUsage((await ask({ continuousUsage: false }, options)).text)).toEqual([-1]);
  });
});

describe('the end of an answer that calls tools', () => {
  const calling = { messages: [{ role: 'user', content: 'look and find' }], tools };
  const ended = async (
    toolQuirk: 'finish-stop' | 'finish-null' | 'finish-with-last' | 'rest-in-finish' | 'empty-content-first',
  ): Promise<string> => (await ask({ toolQuirk: [toolQuirk], reasoning: 'never' }, calling)).text;

  test('says stop, or nothing, when told', async () => {
    expect(lastChoice(await ended('finish-stop'))['finish_reason']).toBe('stop');
    expect(lastChoice(await ended('finish-null'))).toMatchObject({ finish_reason: null, delta: {} });
  });

  test('comes with the last piece, or with all that is left', async () => {
    const withLast = lastChoice(await ended('finish-with-last'));
    expect(withLast).toMatchObject({ finish_reason: 'tool_calls', delta: { tool_calls: [{ index: 1 }] } });
    const rest = lastChoice(await ended('rest-in-finish'));
    const fragment = objectOr(arrayOr(objectOr(rest['delta'])['tool_calls'])[0]);
    expect(JSON.parse(String(objectOr(fragment['function'])['arguments']))).toEqual({ q: expect.any(String) });
  });

  test('has an empty text before the calls when told, and words when told', async () => {
    expect(await ended('empty-content-first')).toMatch(/"delta":\{"content":""\}[^\n]*\n\ndata: [^\n]*tool_calls/u);
    const { text } = await ask({ toolPreamble: true }, calling);
    expect(joinedField(text, 'content')).toBe('Let me look that up for you.');
    expect(text).toContain('tool_calls');
  });

  test('a whole answer has the quirks that apply to it', async () => {
    const { text } = await ask(
      { toolQuirk: ['arguments-object', 'id-missing', 'type-missing', 'finish-stop'] },
      { ...calling, stream: false },
    );
    const choice = objectOr(arrayOr(objectOr(JSON.parse(text))['choices'])[0]);
    expect(choice['finish_reason']).toBe('stop');
    expect(objectOr(choice['message'])['tool_calls']).toEqual([
      { function: { name: 'look', arguments: { q: 'look and find' } } },
      { function: { name: 'find', arguments: { q: 'look and find' } } },
    ]);
  });

  test.each(['not-json', 'truncated', 'wrong-schema', 'empty'] as const)(
    'arguments can be %s',
    async (argumentsDefect) => {
      const { text } = await ask({ argumentsDefect, toolQuirk: ['whole-call'] }, calling);
      const fragment = objectOr(
        arrayOr(
          objectOr(
            objectOr(
              arrayOr(eventJson(text).find((chunk) => JSON.stringify(chunk).includes('tool_calls'))?.['choices'])[0],
            )['delta'],
          )['tool_calls'],
        )[0],
      );
      const given = String(objectOr(fragment['function'])['arguments']);
      if (argumentsDefect === 'wrong-schema') expect(JSON.parse(given)).not.toHaveProperty('q');
      else expect(() => void JSON.parse(given)).toThrow(SyntaxError);
    },
  );

  test('structured output can have white space between its parts', async () => {
    const body = { response_format: { type: 'json_object' } };
    const [tight = '', loose = ''] = [await ask({}, body), await ask({ jsonSpaces: true }, body)].map(({ text }) =>
      joinedField(text, 'content'),
    );
    expect(loose).toMatch(/^\{ "answer": /);
    expect(JSON.parse(loose)).toEqual(JSON.parse(tight));
  });

  test.each(['not-json', 'truncated', 'fenced', 'empty'] as const)(
    'structured output can be %s',
    async (jsonDefect) => {
      const { text } = await ask({ jsonDefect }, { response_format: { type: 'json_object' } });
      expect(() => void JSON.parse(joinedField(text, 'content'))).toThrow(SyntaxError);
    },
  );
});
