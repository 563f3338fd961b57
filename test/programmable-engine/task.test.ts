import OpenAI from 'openai';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import type { BehaviourInput } from './behaviour.ts';
import { startProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr, parsedOr } from './json-value.ts';
import { rawScoreOf, unitScoreOf } from './rerank-endpoint.ts';
import { countTokens } from './tokens.ts';
import { base64Of, cosineOf, vectorOf } from './vectors.ts';

const engine = await startProgrammableEngine({ models: ['e', { id: 'small', maxModelLen: 4 }] });
const client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'none', maxRetries: 0 });
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

async function post(path: string, body: JsonObject): Promise<{ status: number; text: string; json: JsonObject }> {
  const sent = JSON.stringify({ model: 'e', ...body });
  const response = await fetch(`${engine.url}${path}`, { method: 'POST', body: sent });
  const text = await response.text();
  return { status: response.status, text, json: objectOr(parsedOr(text)) };
}
const embed = async (body: JsonObject): ReturnType<typeof post> => post('/v1/embeddings', body);
const entriesOf = (json: JsonObject): readonly JsonObject[] => arrayOr(json['data']).map(objectOr);
const vectorsOf = (json: JsonObject): readonly unknown[] => entriesOf(json).map(({ embedding }) => embedding);
const inputs = ['a weir in a river', 'the weir of the river', 'Käse 🧀'];

describe('embeddings', () => {
  test('are those of their texts, as numbers and in base64, with the tokens of all', async () => {
    const floats = await embed({ input: inputs });
    expect(vectorsOf(floats.json)).toEqual(inputs.map((text) => [...vectorOf(text)]));
    expect(entriesOf(floats.json).map(({ index }) => index)).toEqual([0, 1, 2]);
    const tokens = inputs.reduce((sum, text) => sum + countTokens(text), 0);
    expect(floats.json['usage']).toMatchObject({ prompt_tokens: tokens, total_tokens: tokens });
    const base64 = await embed({ input: inputs, encoding_format: 'base64' });
    expect(vectorsOf(base64.json)).toEqual(inputs.map((text) => base64Of(vectorOf(text))));
  });

  test('satisfy the official client, which asks for base64', async () => {
    const { data } = await client.embeddings.create({ model: 'e', input: inputs });
    expect(data.map(({ embedding }) => embedding)).toEqual(inputs.map((text) => [...vectorOf(text)]));
    expect(engine.requests()[0]?.body).toMatchObject({ encoding_format: 'base64' });
  });

  test('of texts that share words are near, and those of another pooling, model or scale tell', () => {
    const [weir = '', river = '', cheese = ''] = inputs;
    const cosine = (left: string, right: string, manners: BehaviourInput): number =>
      cosineOf(vectorOf(left), vectorOf(right, manners));
    expect(cosine(weir, river, {})).toBeGreaterThan(cosine(weir, cheese, {}) + 0.1);
    expect(cosine(weir, weir, { vectorScale: 7 })).toBeCloseTo(1, 6);
    expect(cosine(weir, weir, { vectorNoise: 20 })).toBeGreaterThan(0.999);
    expect(cosine(weir, weir, { vectorNoise: 100 })).toBeLessThan(0.996);
    expect(cosine(weir, weir, { pooling: 'cls' })).toBeLessThan(0.8);
    expect(cosine(weir, weir, { vectorModel: 'b' })).toBeLessThan(0.5);
  });

  test('are shorter where they are asked to be, unless the engine refuses or ignores that', async () => {
    const asked = { input: 'weir', dimensions: 8 };
    expect(vectorsOf((await embed(asked)).json)).toEqual([[...vectorOf('weir', {}, 8)]]);
    engine.set({ askedDimensions: 'refuse' });
    expect((await embed(asked)).text).toContain('does not support Matryoshka embeddings');
    engine.set({ askedDimensions: 'ignore', dimensions: 32 });
    expect(vectorsOf((await embed(asked)).json)).toEqual([[...vectorOf('weir', { dimensions: 32 })]]);
  });

  test.each([
    [{ vectorForm: 'float' }, /"embedding":\[0?\.?-?\d/u],
    [{ vectorDefect: ['null'] }, /"embedding":null/u],
    [{ vectorDefect: ['null'], vectorForm: 'float' }, /"embedding":\[null,null/u],
    [{ vectorDefect: ['nan'], vectorForm: 'float' }, /"embedding":\[NaN,/u],
    [{ vectorDefect: ['zero'], vectorForm: 'float', dimensions: 2 }, /"embedding":\[0,0\]/u],
    [{ vectorDefect: ['reversed'] }, /"index":2,.*"index":1,.*"index":0,/u],
    [{ vectorDefect: ['duplicate-index'] }, /"index":0,.*"index":1,.*"index":0,/u],
    [{ vectorDefect: ['index-beyond'] }, /"index":3,/u],
    [{ vectorDefect: ['missing'] }, /"data":\[(?!.*"index":2,)/u],
    [{ vectorDefect: ['extra'] }, /"index":3,/u],
    [{ vectorDefect: ['none'] }, /"data":\[\]/u],
    [{ usage: 'absent' }, /^(?!.*"usage")/u],
    [{ cutAfterEvents: 1 }, /^$/u],
  ] satisfies readonly (readonly [BehaviourInput, RegExp])[])('are broken as told: %j', async (behaviour, form) => {
    engine.set(behaviour);
    const answered = embed({ input: inputs, encoding_format: 'base64' });
    if ('cutAfterEvents' in behaviour) await expect(answered).rejects.toThrow('terminated');
    else expect((await answered).text).toMatch(form);
  });

  test('of the last input alone can be wrong', async () => {
    const { json } = await embed({ input: [...inputs, 'last [[vectorDefect=one-short]]'] });
    expect(vectorsOf(json).map((vector) => arrayOr(vector).length)).toEqual([64, 64, 64, 63]);
    expect(vectorsOf(json)[3]).toEqual([...vectorOf('last').subarray(0, 63)]);
  });

  test.each([
    [{ maxInputs: 2 }, inputs, 413, { message: 'batch size 3 > maximum allowed batch size 2', type: 'Validation' }],
    [{ maxInputs: 2, tooManyInputs: '422' }, inputs, 422, { code: 422 }],
    [{ maxInputs: 2, tooManyInputs: '500' }, inputs, 500, { error: { message: 'batch failed' } }],
    [
      { maxInputTokens: 3 },
      'one two three four',
      500,
      {
        error: {
          message: 'input (4 tokens) is too large to process. increase the physical batch size (current batch size: 3)',
        },
      },
    ],
    [{ contextLength: 3 }, [1, 2, 3, 4], 400, { error: { code: 400 } }],
    [{}, [], 400, { error: { param: 'input' } }],
    [{}, [1.5], 400, { error: { param: 'input' } }],
  ] satisfies readonly (readonly [BehaviourInput, unknown, number, JsonObject])[])(
    'are refused as real engines do: %j',
    async (behaviour, input, status, body) => {
      engine.set(behaviour);
      expect(await embed({ input })).toMatchObject({ status, json: body });
    },
  );
});

describe('ranks', () => {
  const query = 'where is the weir';
  const documents = ['a mill by the road', 'the weir is in the river', 'Käse 🧀'];
  const units = documents.map((document) => unitScoreOf(rawScoreOf(query, document)));

  test('come in the form of Cohere and vLLM, best first', async () => {
    const { json } = await post('/v1/rerank', { query, documents, return_documents: true });
    const results = arrayOr(json['results']).map(objectOr);
    expect(results[0]).toEqual({ index: 1, document: { text: documents[1] }, relevance_score: units[1] });
    expect(results).toHaveLength(3);
    expect(json['usage']).toMatchObject({ total_tokens: expect.any(Number) });
    const objects = documents.map((text) => ({ text }));
    const top = await post('/v2/rerank', { query, documents: objects, top_n: 1 });
    expect(top.json['results']).toEqual([{ index: 1, relevance_score: units[1] }]);
  });

  test("come in TEI's form, raw where asked", async () => {
    const unit = await post('/rerank', { query, texts: documents, model: undefined });
    expect(arrayOr(parsedOr(unit.text))[0]).toEqual({ index: 1, score: units[1] });
    const raw = await post('/rerank', { query, texts: documents, raw_scores: true, return_text: true });
    expect(arrayOr(parsedOr(raw.text))[0]).toEqual({
      ...{ index: 1, text: documents[1], score: rawScoreOf(query, documents[1] ?? '') },
    });
    engine.set({ maxInputs: 2 });
    const refused = await post('/rerank', { query, texts: documents });
    expect(refused).toMatchObject({ status: 413, json: { error_type: 'Validation' } });
  });

  test.each([
    ['missing', /^(?!.*"index":1,)/u],
    ['duplicate-index', /"index":1,.*"index":1,/u],
    ['index-beyond', /"index":3,/u],
    ['null', /"relevance_score":null/u],
    ['nan', /"relevance_score":NaN/u],
    ['text', /"relevance_score":"0/u],
    ['none', /"results":\[\]/u],
    ['unsorted', /"index":0,.*"index":1,.*"index":2,/u],
  ] as const)('are broken as told: %s', async (rankDefect, form) => {
    engine.set({ rankDefect });
    expect((await post('/v1/rerank', { query, documents })).text).toMatch(form);
  });
});
