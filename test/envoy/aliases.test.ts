import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'engine', behaviour: { reasoning: 'never' } }));
const aliases = '  aliases: [gpt-4o, old-org/old-name, "llama3.2:1b"]';
const weir = await forFile(
  startWeir({
    engines: [engine],
    manifests: {
      'catalog.yaml':
        backendManifest('engine', engine) +
        modelManifest('test/model', ['engine'], aliases) +
        modelManifest('test/other', ['engine']),
    },
  }),
);

const messages = [{ role: 'user', content: 'Who is meant?' }] as const;
const names = ['gpt-4o', 'GPT-4o', 'old-org/old-name', 'Llama3.2:1b', 'llama3.2:1b:nitro'];

test.each(names)('a request for %s is served, and its answer has the id of the model', async (model) => {
  const chat = await weir.chat({ model, messages });
  expect([chat.status, await chat.json()]).toMatchObject([200, { model: 'test/model' }]);
  const stream = await (await weir.chat({ model, messages, stream: true })).text();
  expect(new Set([...stream.matchAll(/"model":"([^"]*)"/g)].map(([, id]) => id))).toEqual(new Set(['test/model']));
  const message = await weir.messages({ model, messages, max_tokens: 64 });
  expect([message.status, await message.json()]).toMatchObject([200, { model: 'test/model' }]);
});

test('bills and metrics know the id alone, and the catalog lists no alias', async () => {
  await weir.settled();
  expect(new Set((await weir.ledger()).map((row) => row['model']))).toEqual(new Set(['test/model']));
  expect(await weir.metric('weir_requests_total', { model: 'test/model' })).toBe(names.length * 3);
  expect(await (await globalThis.fetch(weir.opsUrl)).text()).not.toContain('gpt-4o');
  const list = (await (await weir.fetch(`${weir.baseUrl}/models`)).json()) as { data: readonly { id: string }[] };
  expect(list.data.map(({ id }) => id)).toEqual(['test/model', 'test/other']);
});

test.each(['gpt-4o', 'old-org/old-name', 'test/model'])('%s has no path of its own', async (name) => {
  const answer = await weir.fetch(`${weir.baseUrl}/models/${name}`);
  expect([answer.status, await answer.json()]).toMatchObject([404, { error: { type: 'invalid_request_error' } }]);
  // docs/how-to/clients.md says what the official libraries make of it.
  await expect(weir.client().models.retrieve(name)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(weir.messagesClient().models.retrieve(name)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});

test('a name that is misspelt is repeated, with the one that may have been meant', async () => {
  const answer = await weir.chat({ model: 'test/modle', messages });
  const message =
    'model: "test/modle" is not in the catalog. Did you mean test/model? GET /v1/models lists the models.';
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: { type: 'invalid_request_error', code: 'model_not_found', message } },
  ]);
  // Records are in order: that of a later request shows that none of this one is to come.
  await weir.chat({ model: 'test/model', messages }, { 'x-request-id': 'after-the-misspelt' });
  await expect.poll(() => weir.log()).toContain('after-the-misspelt');
  expect(weir.log()).not.toContain('modle');
});

test('the name that the engine has for a model is no name of the model', async () => {
  // Not through `weir`, which looks for this name in every answer: this one repeats what the caller wrote.
  const answer = await globalThis.fetch(`${weir.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${weir.key}` },
    body: JSON.stringify({ model: 'demo-chat', messages }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'model_not_found' } }]);
});

test('the models of a key are ids: an alias of one of them is served, and the alias of another is not found', async () => {
  const ask = async (allowed: string) => {
    const flags = ['--workspace', 'demo', '--models', allowed, '--json', '--data', weir.data];
    const { key } = JSON.parse((await runWeir(['key', 'create', ...flags])).stdout) as { readonly key: string };
    const answer = await weir.chat({ model: 'gpt-4o', messages }, { authorization: `Bearer ${key}` });
    return [answer.status, await answer.json()] as const;
  };
  expect(await ask('test/model')).toMatchObject([200, { model: 'test/model' }]);
  expect(await ask('test/other')).toMatchObject([400, { error: { code: 'model_not_found' } }]);
});
