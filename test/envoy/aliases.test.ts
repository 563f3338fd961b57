import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DemoEngine, startDemoEngine } from '../../examples/demo-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

let engine: DemoEngine;
let weir: Weir;

beforeAll(async () => {
  engine = await startDemoEngine({ name: 'engine', behaviour: { reasoning: 'never' } });
  const aliases = '  aliases: [gpt-4o, old-org/old-name, "llama3.2:1b"]';
  weir = await startWeir({
    engines: [engine],
    manifests: {
      'catalog.yaml':
        backendManifest('engine', engine) +
        modelManifest('test/model', ['engine'], aliases) +
        modelManifest('test/other', ['engine']),
    },
  });
});
afterAll(async () => {
  await weir.close();
  await engine.close();
});

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
  for (const path of ['gpt-4o', 'old-org/old-name', 'test/model']) {
    expect((await weir.fetch(`${weir.baseUrl}/models/${path}`)).status).toBe(404);
  }
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
