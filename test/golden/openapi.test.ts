/** The description of the callers' API, docs/reference/openapi.json, beside what the service reads and writes. */
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { type AnswerName, answerSchemas } from '../../scripts/callers-api/answers.ts';
import { callersApi, operations } from '../../scripts/callers-api/document.ts';
import { pathsOf } from '../../src/core/api-paths.ts';
import type { AskedAnswer } from '../../src/core/dialect.ts';
import type { Bill } from '../../src/core/money.ts';
import { compile } from '../../src/control/catalog/compile.ts';
import { createModelList } from '../../src/control/catalog/list.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { backend, model } from '../support/catalog-objects.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { openGoldenFolder } from './golden-files.ts';
import { answerReader, answersOfOneChoice, writeAnswer } from './surface-answers.ts';

const document = callersApi();
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', ...document });

/** What is wrong with a body or an answer. Empty: nothing is. */
function faultsOf(pointer: string, value: unknown): string {
  const validate = ajv.getSchema(`openapi#${pointer}`);
  if (validate === undefined) throw new Error(`there is no ${pointer}`);
  return validate(value) === true ? '' : ajv.errorsText(validate.errors);
}
const bodyOf = (path: string): string =>
  `/paths/${path.replaceAll('/', '~1')}/post/requestBody/content/application~1json/schema`;

const answers = openGoldenFolder('answers');
const textOf = (file: string): string => readFileSync(answers.path(file), 'utf8');
const chunksOf = (stream: string): readonly unknown[] =>
  [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']): unknown => JSON.parse(json));

it('is a valid OpenAPI document', async () => {
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
});

it('has every path of every surface but the second one of rerank', () => {
  const surfaces = (['chat', 'messages', 'responses', 'embeddings', 'rerank'] as const).flatMap(pathsOf);
  const described = new Set(operations.map(({ path }) => path));
  expect(surfaces.filter((path) => !described.has(path))).toEqual(['/v2/rerank']);
});

describe('a body that the service reads', () => {
  const requests = openGoldenFolder('requests');
  const bodies = requests.cases('.json').filter((name) => !name.includes('.'));

  it.each(bodies)('%s fits', (name) => {
    const body: unknown = JSON.parse(readFileSync(requests.path(`${name}.json`), 'utf8'));
    expect(faultsOf(bodyOf('/v1/chat/completions'), body)).toBe('');
  });

  it.each([
    ['/v1/chat/completions', { model: 'demo/chat', messages: [] }, 'messages'],
    ['/v1/chat/completions', { model: 'demo/chat', messages: [{ role: 'user', content: 'x' }], temperature: 3 }, '<= 2'],
    ['/v1/messages', { model: 'demo/chat', messages: [{ role: 'user', content: 'x' }] }, 'max_tokens'],
    ['/v1/rerank', { model: 'demo/rank', query: 'x' }, 'documents'],
  ])('a body of %s with a mistake does not', (path, body, words) => {
    expect(faultsOf(bodyOf(path), body)).toContain(words);
  });
});

describe('what callers get', () => {
  const whole = answers.cases('.json.out.json');
  const streams = answers.cases('.sse.out.sse');

  it.each(whole)('%s is a chat completion', (name) => {
    const answer: unknown = JSON.parse(textOf(`${name}.json.out.json`));
    expect(answerSchemas.ChatCompletion.safeParse(answer).error?.issues).toBeUndefined();
    expect(faultsOf('/components/schemas/ChatCompletion', answer)).toBe('');
  });

  it.each(streams)('%s is a stream of chunks', (name) => {
    for (const chunk of chunksOf(textOf(`${name}.sse.out.sse`))) {
      expect(answerSchemas.ChatCompletionChunk.safeParse(chunk).error?.issues).toBeUndefined();
    }
  });

  const { readWhole } = answerReader('toolu_');
  const asked: AskedAnswer = { includeUsage: true, sampling: { stop: ['END'] } };
  const complete = answersOfOneChoice.filter(([file, kind]) => readWhole(file, kind).end === 'complete');

  it.each(complete)('%s is a message', (file, kind) => {
    const { object } = writeAnswer(dialects.messages, readWhole(file, kind), asked);
    expect(answerSchemas.Message.safeParse(object).error?.issues).toBeUndefined();
  });

  const identity = { id: 'x-1', created: 1, model: 'demo/tiny' };
  const bill: Bill = { usage: { promptTokens: 42, completionTokens: 0 }, cost: 21_000_000n };
  const expectFits = (name: AnswerName, answer: unknown): void =>
    expect(answerSchemas[name].safeParse(answer).error?.issues).toBeUndefined();

  it('a list of vectors is Embeddings', () => {
    const writer = dialects.embeddings.createJsonWriter(identity, asked);
    writer.push([{ type: 'vectors', choice: 0, first: 0, vectors: [{ form: 'numbers', bytes: Buffer.alloc(8, '[0.25,1]') }] }]);
    expectFits('Embeddings', JSON.parse(writer.finish(bill)));
  });

  it('a list of scores is Ranks', () => {
    const returned = ['{"text":"a"}', '{"text":"b"}'];
    const task = { kind: 'rerank', documents: 2, queryBytes: 1, returned } as const;
    const writer = dialects.rerank.createJsonWriter(identity, { ...asked, task });
    writer.push([{ type: 'ranks', choice: 0, first: 0, scores: [0.2, 0.9] }]);
    expectFits('Ranks', JSON.parse(writer.finish(bill)));
  });

  it('the catalog is a ModelList', () => {
    const { snapshot } = compile([backend('vllm-a'), model('m')]);
    const figure = { tokensPerSecondP50: 51.2, firstTokenMsP50: 90, asOf: 1_780_272_000 };
    const statusOf = () => ({ listed: true, figure }) as const;
    const { modelList } = createModelList({ clock: createFakeClock(), snapshot: () => snapshot, statusOf, searchPrice: 7n });
    const list: unknown = JSON.parse(modelList(undefined));
    expectFits('ModelList', list);
    expect(list).toMatchObject({ data: [{ performance: {} }] });
  });
});
