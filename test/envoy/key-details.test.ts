import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { APIError } from 'openai';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { http1Caller } from './support/caller.ts';
import { forFile } from '../support/for-file.ts';

const models = ['acme/chat', 'acme/code', 'qwen/qwen3-8b'];

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const manifests = models.map((id) => modelManifest(id, ['backend-of-test'], '  hedging: {mode: Disabled}'));
const weir = await forFile(
  startWeir({
    manifests: { 'catalog.yaml': backendManifest('backend-of-test', engine) + manifests.join('') },
  }),
);

async function run<Shape>(...args: readonly string[]): Promise<Shape> {
  const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Shape;
}

interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly expires_at: string;
}

let workspaces = 0;

/** A new key in a workspace of its own. */
async function newKey(...options: readonly string[]): Promise<NewKey & { readonly workspace: string }> {
  const workspace = `team-${(workspaces += 1)}`;
  await run('workspace', 'create', workspace, '--credit', '10');
  return { ...(await run<NewKey>('key', 'create', '--workspace', workspace, ...options)), workspace };
}

const ask = (model: string, more: object = {}) => ({
  ...{ model, reasoning_effort: 'none' as const, max_tokens: 50 },
  messages: [{ role: 'user' as const, content: `${canary} [[demo {"words": 1}]]` }],
  ...more,
});
const bearer = ({ key }: NewKey) => ({ authorization: `Bearer ${key}` });
const apiKey = ({ key }: NewKey) => ({ 'x-api-key': key, authorization: '' });

const surfaces = [
  ['chat completions', (key: NewKey, model: string) => weir.chat(ask(model), bearer(key))],
  ['messages', (key: NewKey, model: string) => weir.messages(ask(model), apiKey(key))],
] as const;

async function listed(headers: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const answer = await weir.fetch(`${weir.baseUrl}/models`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('vary')).toBe('authorization, x-api-key');
  return ((await answer.json()) as { data: readonly { id: string }[] }).data.map(({ id }) => id);
}

test('a key is good up to its expiry and 401 from then on, on both surfaces, whatever is remembered of it', async () => {
  // The command that makes the key is over long before, however slow the machine is.
  const fromMs = performance.now();
  await newKey('--rate', '9000');
  const expires = new Date(Date.now() + 3_000 + 5 * (performance.now() - fromMs)).toISOString();
  const key = await newKey('--expires', expires, '--rate', '9000', '--burst', '9000');
  const expiresAt = Date.parse(key.expires_at);
  for (let isOver = false; !isOver;) {
    isOver = Date.now() >= expiresAt;
    for (const [, send] of surfaces) {
      const sentAt = Date.now();
      const { status } = await send(key, 'acme/chat');
      const answeredAt = Date.now();
      // What is sent afterwards is refused, and what is answered before is not. The service is told nothing meanwhile.
      expect([200, 401]).toContain(status);
      if (sentAt >= expiresAt) expect(status).toBe(401);
      if (answeredAt < expiresAt) expect(status).toBe(200);
    }
  }
  const refused = await weir.chat(ask('acme/chat'), bearer(key));
  expect(await refused.json()).toEqual({ error: { type: 'service_error', message: expect.any(String) as string } });

  await run('key', 'update', key.id, '--expires', 'never');
  const again = async () => (await weir.chat(ask('acme/chat'), bearer(key))).status;
  await expect.poll(again).toBe(200);
});

test.each(surfaces)('a key with models is served these, and another is not in the catalog: %s', async (_, send) => {
  const key = await newKey('--models', 'acme/*,gone/model');
  for (const model of ['acme/chat', 'ACME/Code:nitro']) expect((await send(key, model)).status).toBe(200);
  for (const model of ['qwen/qwen3-8b', 'gone/model', 'never/was']) {
    const refused = await send(key, model);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', code: 'model_not_found' } },
    ]);
  }
  await weir.settled();
  const rows = await run<readonly { model: string }[]>('usage', '--requests', '--workspace', key.workspace);
  expect(rows.map(({ model }) => model).toSorted()).toEqual(['acme/chat', 'acme/code']);
});

test('the catalog lists what a key may call, in the header of either surface, and everything to everybody else', async () => {
  const key = await newKey('--models', 'acme/code,qwen/*');
  const own = ['acme/code', 'qwen/qwen3-8b'];
  expect(await listed(bearer(key))).toEqual(own);
  expect(await listed({ 'x-api-key': key.key })).toEqual(own);
  expect((await weir.client({ apiKey: key.key }).models.list()).data.map(({ id }) => id)).toEqual(own);
  for (const headers of [{}, bearer(await newKey()), { authorization: 'Bearer nonsense' }]) {
    expect(await listed(headers)).toEqual(models);
  }
  const refused = weir.client({ apiKey: key.key }).chat.completions.create(ask('acme/chat'));
  await expect(refused).rejects.toMatchObject({ status: 400, code: 'model_not_found' });
  await expect(refused).rejects.toBeInstanceOf(APIError);

  await run('key', 'update', key.id, '--models', 'acme/chat');
  await expect.poll(() => listed(bearer(key))).toEqual(['acme/chat']);
  await run('key', 'revoke', key.id);
  await expect.poll(() => listed(bearer(key))).toEqual(models);
});

/** How many workspaces have reservations, as the database was told. */
function reservations(): number {
  const database = new DatabaseSync(join(weir.data, 'weir.db'), { readOnly: true });
  try {
    return database.prepare('select 1 from reservations').all().length;
  } finally {
    database.close();
  }
}

test('a correction takes nothing that a request under way has reserved, and all of it once that has ended', async () => {
  const key = await newKey();
  const caller = http1Caller({ ...weir, key: key.key });
  const words = { words: 4_000, tokenDelayMs: 50 };
  const content = `${canary} [[demo ${JSON.stringify(words)}]]`;
  const slow = caller.open(
    ask('qwen/qwen3-8b', { stream: true, max_tokens: 9_000, messages: [{ role: 'user', content }] }),
  );
  await (await slow.answer).until('data: ');
  const correct = () =>
    runWeir(['workspace', 'credit', key.workspace, '-9.999', '--note', 'refund', '--json', '--data', weir.data]);
  const balance = async () =>
    (await run<readonly { name: string; balance: string }[]>('workspace', 'list')).find(
      ({ name }) => name === key.workspace,
    )?.balance;
  // Within a second the service has told of it.
  await expect.poll(reservations).toBeGreaterThan(0);
  expect(await correct()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/balance of .* is \$10, and \$0\.\d+ is reserved for in-flight requests/),
  });
  expect(await balance()).toBe('10');
  slow.leave();
  await caller.close();
  await weir.settled();
  await expect.poll(async () => (await correct()).code).toBe(0);
  expect(await run('ledger', 'verify')).toMatchObject({ ok: true });
  expect(await run('audit', '--limit', '1')).toMatchObject([{ action: 'workspace.credit', after: { note: 'refund' } }]);
});
