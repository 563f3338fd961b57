import { join } from 'node:path';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { forFile } from '../support/for-file.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { sendRaw } from './support/raw-http.ts';

const dimensions = 64;

/** A model of vectors of the programmable engine. */
const embeddingModel = (id: string, backends: readonly string[], facts = '', extra = ''): string =>
  modelManifest(id, backends, `  kind: Embedding\n  embedding: {dimensions: ${dimensions}${facts}}\n${extra}`)
    .replace(/, completion: .*\}$/m, '}')
    .replace(/^ {2}reasoning: .*\n/m, '')
    .replace('contextLength: 131072', 'contextLength: 64');

const one = await forFile(startProgrammableEngine({ name: 'alpha' }));
const two = await forFile(startProgrammableEngine({ name: 'beta' }));
const small = await forFile(
  startProgrammableEngine({ name: 'gamma', behaviour: { maxInputs: 32, tooManyInputs: '422' } }),
);
const weir = await forFile(
  startWeir({
    manifests: {
      'catalog.yaml': [
        backendManifest('one', one),
        backendManifest('two', two),
        backendManifest('small', small, 'tei'),
        modelManifest('test/model', ['one']),
        embeddingModel('test/embed', ['one', 'two'], ', shorterDimensions: [16]', '  hedging: {mode: Disabled}'),
        embeddingModel('test/small', ['small']),
        embeddingModel('test/counted', ['one'], '', '  tokenizer: {path: chatml}'),
        embeddingModel('test/pieces', ['one'], '', '  tokenizer: {path: bert}'),
        embeddingModel('test/unigram', ['one'], '', '  tokenizer: {path: xlm-roberta}'),
      ].join(''),
    },
    env: { WEIR_TOKENIZERS: join(import.meta.dirname, '..', 'golden', 'tokens') },
    unlimited: true,
  }),
);

interface EmbeddingsBody {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number; readonly cost: number };
}

const post = (path: string, body: object): Promise<Response> =>
  weir.fetch(`${weir.origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const embed = (body: object): Promise<Response> => post('/v1/embeddings', { model: 'test/embed', ...body });
const vectorsIn = async (answer: Response) =>
  ((await answer.json()) as EmbeddingsBody).data.map(({ embedding }) => embedding);

/** The answer of an engine itself. */
async function ofEngine({ port }: { readonly port: number }, input: readonly string[]): Promise<EmbeddingsBody> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'demo-chat', input }),
  });
  return (await answer.json()) as EmbeddingsBody;
}

const texts = ['What is a weir?', `A low dam. ${canary}`, 'Ein Wehr, 堰'];

describe('embeddings through Envoy', () => {
  it('are the engine’s own in both encodings, also with the official client, which asks for base64', async () => {
    const own = (await ofEngine(one, texts)).data.map(({ embedding }) => embedding);
    expect(await vectorsIn(await embed({ input: texts }))).toEqual(own);
    const client = new OpenAI({ apiKey: weir.key, baseURL: `${weir.origin}/v1`, fetch: weir.fetch, maxRetries: 0 });
    const answer = await client.embeddings.create({ model: 'test/embed', input: texts });
    const exact = (vector: readonly number[] | string) => Array.from(Float32Array.from(vector as readonly number[]));
    expect(answer.data.map(({ embedding }) => embedding)).toEqual(own.map(exact));
    expect(answer.usage.prompt_tokens).toBeGreaterThan(0);
  });

  it('are shortened as the model allows', async () => {
    const [vector] = await vectorsIn(await embed({ input: 'a', dimensions: 16 }));
    expect(vector).toHaveLength(16);
    expect((await embed({ input: 'a', dimensions: 17 })).status).toBe(400);
  });

  it.each(['null', 'nan', 'zero', 'short', 'missing', 'duplicate-index'])(
    'come from another route when an engine answers with this defect: %s',
    async (defect) => {
      const input = [`first [[demo ${JSON.stringify({ on: 'alpha', vectorDefect: defect })}]]`, 'second'];
      const answer = await embed({ input });
      expect(answer.status).toBe(200);
      expect(await vectorsIn(answer)).toHaveLength(2);
    },
  );

  it('are split for an engine that takes 32 inputs, and joined into one answer and one bill', async () => {
    const input = Array.from({ length: 100 }, (_, at) => `text number ${at}`);
    const answer = (await (await embed({ model: 'test/small', input })).json()) as EmbeddingsBody;
    const own = await Promise.all([0, 32, 64, 96].map((at) => ofEngine(small, input.slice(at, at + 32))));
    expect(answer.data.map(({ embedding }) => embedding)).toEqual(
      own.flatMap(({ data }) => data.map(({ embedding }) => embedding)),
    );
    const tokens = own.reduce((sum, { usage }) => sum + usage.prompt_tokens, 0);
    expect(answer.usage).toEqual({
      prompt_tokens: tokens,
      total_tokens: tokens,
      cost: Number((tokens * 1.5e-7).toFixed(12)),
    });
    await weir.settled();
    const rows = (await weir.ledger()).filter((row) => row['model'] === 'test/small');
    expect(rows).toMatchObject([
      {
        surface: 'embeddings',
        outcome: 'completed',
        prompt_tokens: tokens,
        completion_tokens: 0,
        counted_by: 'engine',
        attempts: 4,
      },
    ]);
  });

  it('read a large body elsewhere than the event loop, and write it to the engine piece by piece', async () => {
    const input = Array.from({ length: 2048 }, (_, at) => `${at} ${'word '.repeat(20)}`);
    const answer = (await (
      await embed({ model: 'test/small', input, encoding_format: 'base64' })
    ).json()) as EmbeddingsBody;
    expect(answer.data).toHaveLength(2048);
    const own = await ofEngine(small, input.slice(2040));
    const decoded = answer.data.slice(2040).map(({ embedding }) => {
      const bytes = Buffer.from(String(embedding), 'base64');
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
    });
    expect(decoded).toEqual(own.data.map(({ embedding }) => Array.from(Float32Array.from(embedding as number[]))));
  });

  it.each([
    ['test/counted', 'long '.repeat(80)],
    // With the two tokens that the tokenizer adds, one more than the window.
    ['test/pieces', 'a '.repeat(63)],
    ['test/unigram', 'a '.repeat(63)],
  ])('of %s refuse an input that is too long before any engine gets it, with its index', async (model, long) => {
    const answer = await embed({ model, input: ['short', long] });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { message: expect.stringMatching(/^input\[1\]: too long: .*64 tokens/) as string } },
    ]);
  });

  it.each(['test/pieces', 'test/unigram'])('of %s are served up to the last token of the window', async (model) => {
    expect((await embed({ model, input: ['short', 'a '.repeat(62)] })).status).toBe(200);
  });
});

describe('models of a kind', () => {
  it('are listed with it, and chat models without', async () => {
    const list = (await (await weir.fetch(`${weir.origin}/v1/models`)).json()) as { data: readonly { id: string }[] };
    const entry = (id: string) => list.data.find((model) => model.id === id);
    expect(entry('test/embed')).toMatchObject({
      ...{ kind: 'embedding', dimensions, shorter_dimensions: [16], context_length: 64 },
      pricing: { prompt: '0.00000015', completion: '0' },
    });
    expect(entry('test/model')).not.toHaveProperty('kind');
  });

  it('are refused at the path of another kind', async () => {
    const answers = await Promise.all([
      embed({ model: 'test/model', input: 'a' }),
      weir.chat({ model: 'test/embed', messages: [{ role: 'user', content: 'a' }] }),
    ]);
    const messages = await Promise.all(answers.map(async (answer) => [answer.status, await answer.json()]));
    expect(messages).toMatchObject([
      [400, { error: { message: 'model: test/model answers in words: use POST /v1/chat/completions' } }],
      [400, { error: { message: 'model: test/embed makes embeddings: use POST /v1/embeddings' } }],
    ]);
  });

  it('are explained and counted like chats', async () => {
    const answer = await embed({ input: 'explain me' });
    const { id } = (await answer.json()) as { id: string };
    await weir.settled();
    const { code, stdout } = await runWeir(['explain', id, '--data', weir.data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('embeddings') as string]);
    expect(await weir.metric('weir_requests_total', { surface: 'embeddings' })).toBeGreaterThan(0);
  });
});

it('without an embedding model, the path is a 404 in the bytes of any unknown path', async () => {
  const chats = await startWeir({ engines: [one] });
  const { port } = new URL(chats.origin);
  const answerAt = async (path: string, body: string) => {
    const lines = `host: x\r\nx-request-id: same\r\ncontent-length: ${body.length}\r\n`;
    const { text } = await sendRaw(Number(port), `POST ${path} HTTP/1.1\r\n${lines}\r\n${body}`);
    return text.replace(/^date: .*\r\n/im, '');
  };
  // As long as the path of embeddings.
  const other = '/v1/embeddingz';
  const asOther = async (body: string) => (await answerAt('/v1/embeddings', body)).replace('/v1/embeddings', other);
  try {
    const unknown = await answerAt(other, '');
    expect(unknown).toMatch(/^HTTP\/1\.1 404 /);
    expect(await asOther('')).toBe(unknown);
    // Envoy may close a connection whose request had not ended when it answered.
    const bodies = await Promise.all([asOther('{}'), answerAt(other, '{}')]);
    expect(bodies[0]?.split('\r\n\r\n')[1]).toBe(bodies[1]?.split('\r\n\r\n')[1]);
  } finally {
    await chats.close();
  }
});
