import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeEngine, startFakeEngine } from '../fake-engine/fake-engine.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

/** An engine that counts what the last message of its prompt tells it to: the JSON text of a usage block. */
let engine: FakeEngine;
let weir: Weir;

beforeAll(async () => {
  engine = await startFakeEngine(({ body, response }) => {
    const { stream, messages } = JSON.parse(body) as {
      readonly stream: boolean;
      readonly messages: readonly { readonly content: string }[];
    };
    const usage = messages.at(-1)?.content ?? '{}';
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
    const message = { role: 'assistant', content: 'one two three' };
    if (!stream) {
      response.end(
        `{"choices":[{"index":0,"message":${JSON.stringify(message)},"finish_reason":"stop"}],"usage":${usage}}`,
      );
      return;
    }
    for (const content of ['one', ' two', ' three']) {
      response.write(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`,
      );
    }
    response.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
    response.end(`data: {"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`);
  });
  weir = await startWeir({
    manifests: { 'catalog.yaml': backendManifest('lying', engine) + modelManifest('test/model', ['lying']) },
  });
});
afterAll(async () => {
  await weir.close();
  await engine.close();
});

const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
const lies = {
  'a prompt of a billion': '{"prompt_tokens":1000000000,"completion_tokens":3}',
  'an output of a billion': '{"prompt_tokens":9,"completion_tokens":1000000000}',
  'a full window for a word': '{"prompt_tokens":32768,"completion_tokens":3}',
  'beyond 64 bits': '{"prompt_tokens":1e300,"completion_tokens":1e300}',
  'beyond any number': '{"prompt_tokens":1e999,"completion_tokens":3}',
  'money back': '{"prompt_tokens":-1000000,"completion_tokens":-1000000}',
  'no tokens at all': '{"prompt_tokens":0,"completion_tokens":0}',
  'half tokens': '{"prompt_tokens":9.5,"completion_tokens":2.5}',
};

test.each(Object.entries(lies).flatMap(([what, usage]) => [true, false].map((stream) => ({ what, usage, stream }))))(
  'an engine that counts $what is not believed (stream: $stream)',
  async ({ what, usage, stream }) => {
    const before = await weir.metric('weir_implausible_usage_total');
    const id = `${what.replaceAll(' ', '-')}-${stream}`;
    const body = { model: 'test/model', stream, messages: [{ role: 'user', content: usage }] };
    const answer = await weir.chat({ ...body, stream_options: { include_usage: true } }, { 'x-request-id': id });
    expect(answer.status).toBe(200);
    await answer.text();
    await weir.settled();
    const row = (await weir.ledger()).find((each) => each['correlation_id'] === id) ?? {};
    expect(row).toMatchObject({ outcome: 'completed', estimated: true, counted_by: 'estimate' });
    expect(row['prompt_tokens']).toBeGreaterThan(0);
    expect(row['prompt_tokens']).toBeLessThan(50);
    expect(row['completion_tokens']).toBeGreaterThan(0);
    expect(row['completion_tokens']).toBeLessThan(5);
    expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
    expect(await weir.metric('weir_implausible_usage_total')).toBe(before + 1);
  },
);

test('what an engine counts in earnest is believed, and the books balance', async () => {
  const before = await weir.metric('weir_implausible_usage_total');
  const content = '{"prompt_tokens":40,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}';
  const answer = await weir.chat({ model: 'test/model', messages: [{ role: 'user', content }] });
  expect(await answer.json()).toMatchObject({ usage: { prompt_tokens: 40, completion_tokens: 5 } });
  expect(await weir.metric('weir_implausible_usage_total')).toBe(before);
  expect((await runWeir(['ledger', 'verify', '--data', weir.data])).code).toBe(0);
  // The first is told, and not each of the others.
  await expect.poll(() => weir.log().match(/the engine counts tokens that cannot be/g)).toHaveLength(2);
});
