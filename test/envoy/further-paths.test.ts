import { answerSchemas } from '../../scripts/callers-api/answers.ts';
import { join } from 'node:path';
import { AuthenticationError, NotFoundError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { forFile } from '../support/for-file.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';

const window = 4096;
const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const counted = modelManifest('test/counted', ['one'], '  tokenizer: {path: chatml}\n  aliases: [counted]');
const catalog = [
  backendManifest('one', engine),
  counted.replace('contextLength: 131072', `contextLength: ${window}`),
  modelManifest('test/uncounted', ['one']),
];
const weir = await forFile(
  startWeir({
    manifests: { 'catalog.yaml': catalog.join('') },
    env: {
      ...{ WEIR_FURTHER_PATHS: 'with-balance', WEIR_COST_HEADERS: 'on' },
      WEIR_TOKENIZERS: join(import.meta.dirname, '..', 'golden', 'tokens'),
    },
  }),
);

async function newKey(...options: readonly string[]): Promise<{ readonly id: string; readonly key: string }> {
  const args = ['key', 'create', '--workspace', 'demo', ...options, '--json', '--data', weir.data];
  const { code, stdout, stderr } = await runWeir(args);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as { readonly id: string; readonly key: string };
}

const getAt = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Response> =>
  weir.fetch(`${weir.origin}${path}`, { method, headers });
const user = (text: string) => [{ role: 'user' as const, content: `${canary} ${text}` }];
const answer = { reasoning_effort: 'none', model: 'test/counted', messages: user('[[words=3]]') } as const;

test('a key is told of itself and of what it has spent, in either header, and its answers say what is left', async () => {
  const limits = ['--budget', '2', '--period', 'day', '--models', 'test/counted', '--name', 'CI'];
  const { id, key } = await newKey(...limits, '--expires', '2100-01-01');
  const whole = await weir.chat(answer, { authorization: `Bearer ${key}` });
  const { usage } = (await whole.json()) as { readonly usage: { readonly cost: number } };
  const [spent, left] = ['x-weir-cost', 'x-weir-budget-remaining'].map((name) => whole.headers.get(name) ?? '');
  expect(Number(spent)).toBe(usage.cost);
  expect(usage.cost).toBeGreaterThan(0);
  const stream = await weir.chat({ ...answer, stream: true }, { authorization: `Bearer ${key}` });
  expect([stream.headers.get('x-weir-cost'), stream.headers.get('x-weir-budget-remaining')]).toEqual([null, left]);
  await stream.text();
  await weir.settled();

  const shown: unknown[] = [];
  for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
    const response = await getAt('/v1/key?x=1', headers);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    shown.push(await response.json());
  }
  expect(shown[1]).toEqual(shown[0]);
  expect(answerSchemas.Key.safeParse(shown[0]).error?.issues).toBeUndefined();
  const ofKey = shown[0] as { readonly budget: Readonly<Record<string, string>> };
  expect(ofKey).toMatchObject({
    ...{ object: 'key', id, workspace: 'demo', name: 'CI', models: ['test/counted'], rate: 100, burst: 200 },
    ...{ expires_at: '2100-01-01T00:00:00.000Z', balance: expect.stringMatching(/^\d+\.\d+$/) as string },
    budget: { limit: '2', period: 'day', resets_at: expect.stringMatching(/T00:00:00\.000Z$/) as string },
  });
  const rows = (await weir.ledger()).filter((row) => row['key'] === id);
  expect(rows).toHaveLength(2);
  const picoUsd = (text: unknown): bigint => BigInt(Math.round(Number(text) * 1e12));
  expect(rows.reduce((sum, row) => sum + picoUsd(row['cost']), 0n)).toBe(picoUsd(ofKey.budget['spent']));
  expect(picoUsd(ofKey.budget['spent']) + picoUsd(ofKey.budget['remaining'])).toBe(picoUsd('2'));
});

test('a wrong key is told so, where the list of models tells it nothing', async () => {
  const wrong = { authorization: `Bearer ${weir.key.slice(0, -1)}_` };
  expect((await getAt('/v1/models', wrong)).status).toBe(200);
  expect((await getAt('/v1/key', wrong)).status).toBe(401);
  const head = await getAt('/v1/key', { 'x-api-key': weir.key }, 'HEAD');
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await getAt('/v1/key', {}, 'OPTIONS')).status).toBe(404);
});

test('a model is the entry of the list, whichever way its slash is written, also for the official clients', async () => {
  const list = (await (await getAt('/v1/models')).json()) as { readonly data: readonly { readonly id: string }[] };
  const entry = list.data.find(({ id }) => id === 'test/counted');
  for (const id of [
    'test/counted',
    'test%2Fcounted',
    'TEST/Counted',
    'counted',
    'test//counted',
    'x/../test/counted?a=b',
  ]) {
    const response = await getAt(`/v1/models/${id}`);
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(await response.json()).toEqual(entry);
  }
  const openai = weir.client().models;
  const anthropic = weir.messagesClient().models;
  for (const models of [openai, anthropic]) {
    expect(await models.retrieve('test/counted')).toMatchObject({ ...entry });
    await expect(models.retrieve('test/none')).rejects.toMatchObject({ status: 404 });
  }
  await expect(anthropic.retrieve('test/none')).rejects.toBeInstanceOf(NotFoundError);
  expect((await getAt('/v1/models/test/counted', {}, 'OPTIONS')).status).toBe(204);
  for (const path of ['/v1/models/', '/v1/models/x/../../keys']) expect((await getAt(path)).status).toBe(404);
});

test('the official client counts a prompt as the window does, before any engine and at no cost', async () => {
  const rows = (await weir.ledger()).length;
  const asked = engine.requests().length;
  const { messages } = weir.messagesClient();
  const prompt = { model: 'test/counted', messages: user('[[words=3]] What is a weir?') };
  const { input_tokens: tokens } = await messages.countTokens(prompt);
  expect(await weir.messagesClient().beta.messages.countTokens(prompt)).toMatchObject({ input_tokens: tokens });
  expect([(await weir.ledger()).length, engine.requests().length]).toEqual([rows, asked]);

  const fits = await messages.create({ ...prompt, max_tokens: window - tokens });
  expect(fits.model).toBe('test/counted');
  await expect(messages.create({ ...prompt, max_tokens: window - tokens + 1 })).rejects.toMatchObject({ status: 400 });
  const wrong = weir.messagesClient({ apiKey: 'sk-wrong' }).messages.countTokens(prompt);
  await expect(wrong).rejects.toBeInstanceOf(AuthenticationError);
});

test('a long prompt of a model without a tokenizer is estimated, in the thread that reads large bodies', async () => {
  const prompt = { model: 'test/uncounted', messages: user('abcde'.repeat(60_000)) };
  const { input_tokens: tokens } = await weir.messagesClient().messages.countTokens(prompt);
  expect(tokens).toBeGreaterThan(59_000);
  expect(tokens).toBeLessThan(61_000);
});
