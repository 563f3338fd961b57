// @suite long
import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import type { Story } from '../../src/telemetry/core/story.ts';
import { runWeir } from '../support/run-weir.ts';
import { canary, startWeir } from '../support/weir.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';
import { startSearchServer } from './support/search-server.ts';
import { forFile } from '../support/for-file.ts';

/** A fault as the ledger has it: without the engine's sentence. */
const recorded = ({ said: _, ...fault }: { readonly said?: string | undefined }): object => fault;

const alpha = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const beta = await forFile(startProgrammableEngine({ name: 'beta', behaviour: { reasoning: 'never' } }));
const search = await forFile(startSearchServer());
const heavy = (id: string): string =>
  modelManifest(id, ['backend-a', 'backend-b']).replace('weight: 1000', 'weight: 1000000');
const manifests = [
  ...[backendManifest('backend-a', alpha), backendManifest('backend-b', beta)],
  ...['test/model', 'test/hedged', 'test/broken'].map(heavy),
];
const weir = await forFile(
  startWeir({
    engines: [alpha, beta],
    manifests: { 'catalog.yaml': manifests.join('') },
    unlimited: true,
    env: { WEIR_WEB_SEARCH: `searxng:${search.url}` },
  }),
);
beforeEach(() => {
  for (const engine of [alpha, beta]) engine.reset();
});
// `close` looks for the canary, which is in every prompt here, in all files and in the metrics.

/** By their `x-request-id`, as the services told them. */
const explained = new Map<string, Story>();

/** Prices are recorded some seconds after the start, so they may be known only the second time. */
const withoutPrices = (name: string, value: unknown): unknown => (name === 'prices' ? undefined : value);

interface Told {
  readonly story: Story;
  readonly text: string;
}

/** What `weir explain` says of a request, in both forms. */
async function explain(request: string, env: Readonly<Record<string, string>> = {}): Promise<Told> {
  const [json, text] = await Promise.all(
    [['--json'], []].map((flags) => runWeir(['explain', request, '--data', weir.data, ...flags], { env })),
  );
  expect([json?.stderr, text?.stderr, json?.code, text?.code]).toEqual(['', '', 0, 0]);
  expect(`${json?.stdout}${text?.stdout}`).not.toContain(canary);
  expect(`${json?.stdout}${text?.stdout}`).not.toContain(weir.key);
  const story = JSON.parse(json?.stdout ?? '', withoutPrices) as Story;
  if (story.source === 'service') explained.set(story.correlation_id ?? '', story);
  return { story, text: text?.stdout ?? '' };
}

const ask = (model: string, more: object = {}): object => ({
  ...{ model: `test/${model}`, stream: true, ...more },
  messages: [{ role: 'user', content: `${canary} Tell me. [[words=12]]` }],
});

/** Asks, reads the whole answer, and returns its `x-request-id` after the bill. */
async function finish(body: object, id: string): Promise<string> {
  const response = await weir.chat(body, { 'x-request-id': id });
  await response.text();
  await weir.settled();
  return response.headers.get('x-request-id') ?? '';
}

test('a completed request: its plan, one attempt, its bill, by its own id and by that of its answer', async () => {
  const id = await finish(ask('model'), 'explain-completed');
  expect(id).toBe('explain-completed');
  const { story, text } = await explain(id);
  expect(story).toMatchObject({
    ...{
      source: 'service',
      outcome: 'completed',
      model: 'test/model',
      route: 'test/model@backend-a',
      attempt_count: 1,
    },
    plan: { first: 'chance', routes: [{ route: 'test/model@backend-a' }, { route: 'test/model@backend-b' }] },
    attempts: [{ end: 'complete', fault: null, reason: 'first', endpoint: `127.0.0.1:${alpha.port}` }],
    bill: { counted_by: 'engine' },
  });
  const [attempt] = story.attempts ?? [];
  const times = [0, attempt?.began_ms, attempt?.first_output_ms, attempt?.ended_ms, story.duration_ms ?? 0].map(Number);
  expect(times.slice(0, 4)).toEqual(times.slice(0, 4).toSorted((a, b) => a - b));
  expect(text).toContain('was answered completely');
  expect(text).toMatch(/^Bill: \d+ prompt tokens.* counted by the engine: 0\.\d+ USD, recorded within/m);
  expect(text).toMatch(/^(?:Prices in USD per million tokens: |Its unit prices are not known)/m);
  expect((await explain(story.id)).story).toEqual(story);
  // Services that do not know of it any more: the ledger does.
  const port = alpha.port;
  const late = await explain(story.id, { WEIR_SERVICES: `http://127.0.0.1:${port}` });
  expect(late.story).toMatchObject({ ...{ id: story.id, source: 'ledger', attempts: null }, bill: story.bill });
  expect(late.text).toContain('The services have forgotten this request.');
});

test('a hedged request: the silent attempt was given up for a later one', async () => {
  alpha.set({ fault: 'stall', at: 'before-headers' });
  const { story, text } = await explain(await finish(ask('hedged'), 'explain-hedged'));
  expect(story).toMatchObject({
    ...{ outcome: 'completed', hedge_count: 1, failover_count: 0, route: 'test/hedged@backend-b' },
    attempts: [
      { end: 'beaten', first_output_ms: null, reason: 'first' },
      { end: 'complete', reason: 'hedge', step: 'route' },
    ],
  });
  expect(story.attempts?.[1]?.began_ms).toBeGreaterThan(900);
  expect(text).toContain('hedge while an attempt is silent, on another route');
});

test('a resumed request: the attempt that broke off, and the one that went on', async () => {
  alpha.set({ cutAfterEvents: 4 });
  const { story, text } = await explain(await finish(ask('model'), 'explain-resumed'));
  expect(story).toMatchObject({
    ...{ outcome: 'completed', resume_count: 1, attempt_count: 2 },
    attempts: [
      { end: 'failed', fault: { kind: expect.stringMatching(/truncated|reset/) } },
      { end: 'complete', reason: 'resume' },
    ],
  });
  expect(text).toContain('continues the interrupted answer');
});

test('an interrupted request: no attempt could go on', async () => {
  alpha.set({ cutAfterEvents: 4 });
  beta.set({ status: 500 });
  const { story, text } = await explain(await finish(ask('broken'), 'explain-interrupted'));
  expect(story).toMatchObject({ outcome: 'interrupted', failure: null });
  expect(story.attempts?.at(-1)).toMatchObject({ reason: 'resume', end: 'failed', fault: { status: 500 } });
  expect(text).toContain('was interrupted after a part of the answer had been delivered');
  expect(text).toMatch(/failed at .*: it reports an internal error \(HTTP 500/);
});

test('a cancelled request: what was delivered is billed', async () => {
  const ended = new AbortController();
  alpha.set({ tokenDelayMs: 100 });
  const response = await weir.fetch(`${weir.baseUrl}/chat/completions`, {
    ...{ method: 'POST', body: JSON.stringify(ask('model')), signal: ended.signal },
    headers: {
      authorization: `Bearer ${weir.key}`,
      'content-type': 'application/json',
      'x-request-id': 'explain-cancelled',
    },
  });
  await response.body?.getReader().read();
  ended.abort();
  await weir.settled();
  const { story, text } = await explain('explain-cancelled');
  expect(story).toMatchObject({ outcome: 'cancelled', attempts: [{ end: 'aborted' }] });
  expect(story.first_output_ms).not.toBeNull();
  expect(text).toContain('was cancelled: its caller left');
});

test('a failed request: nothing was billed, and no engine counted', async () => {
  for (const engine of [alpha, beta]) engine.set({ status: 500 });
  const { story, text } = await explain(await finish(ask('broken'), 'explain-failed'));
  expect(story).toMatchObject({
    ...{ outcome: 'failed', route: null },
    bill: { prompt_tokens: 0, completion_tokens: 0, counted_by: null, cost: '0' },
  });
  expect(text).toMatch(/^Nothing was billed\.$/m);
  expect(text).not.toContain('counted by');
  const late = await explain(story.id, { WEIR_SERVICES: `http://127.0.0.1:${alpha.port}` });
  expect(late.story).toMatchObject({
    ...{ source: 'ledger', bill: story.bill, failure: { code: 'attempts_failed', status: 502 }, failover_count: 1 },
    attempts: [alpha, beta].map(({ port }) => ({ endpoint: `127.0.0.1:${port}`, fault: { status: 500 } })),
  });
  expect(late.text).toContain('The caller got attempts_failed (HTTP 502)');
});

test('a refused request: the code, the parts that it is about, and nothing of its text', async () => {
  await finish({ ...ask('model'), model: `${canary}/none` }, 'explain-refused');
  const { story, text } = await explain('explain-refused');
  expect(story).toMatchObject({
    ...{ outcome: 'refused', model: null, attempts: [], bill: null, plan: null },
    failure: { code: 'model_not_found', status: 400 },
  });
  expect(story.key).toMatch(/^key_/);
  expect(text).toContain('The caller got model_not_found (HTTP 400)');
  expect(text).toContain('Nothing was billed.');
});

test('a request that searched the web: each search with its result and time', async () => {
  const script = [
    { call: [{ name: 'web_search', arguments: { query: 'the answer' } }] },
    { say: 'It is known. The answer is 41 [cite:1].' },
  ];
  const response = await weir.messages(
    {
      ...{ model: 'test/model', max_tokens: 500, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      messages: [{ role: 'user', content: `${canary} What? [[demo ${JSON.stringify({ script })}]]` }],
    },
    { 'x-request-id': 'explain-searched' },
  );
  expect(response.status).toBe(200);
  await response.text();
  await weir.settled();
  const { story, text } = await explain('explain-searched');
  expect(story).toMatchObject({
    ...{ outcome: 'completed', surface: 'messages', attempt_count: 2 },
    searches: [{ provider: 'searxng', result: 'found' }],
    bill: { web_searches: 1 },
  });
  expect(text).toMatch(/^Web search at .* with searxng: results after .*\.$/m);
});

/** A service that has been restarted remembers as much as this address: nothing. */
const forgotten = () => ({ WEIR_SERVICES: `http://127.0.0.1:${alpha.port}` });

test('each kind of request is told from the ledger, which outlives the services', async () => {
  const kinds = [
    ['completed', 'completed', 1],
    ['hedged', 'completed', 2],
    ['resumed', 'completed', 2],
    ['interrupted', 'interrupted', 2],
    ['cancelled', 'cancelled', 1],
    ['searched', 'completed', 2],
  ] as const;
  const checked = kinds.map(async ([request, outcome, attempts]) => {
    const remembered = explained.get(`explain-${request}`);
    const { stdout } = await runWeir(['explain', `explain-${request}`, '--data', weir.data, '--json'], {
      env: forgotten(),
    });
    expect(JSON.parse(stdout), request).toMatchObject({
      ...{ source: 'ledger', outcome, attempt_count: attempts, plan: null },
      attempts:
        outcome === 'interrupted'
          ? remembered?.attempts?.map(({ fault }) => ({ fault: fault && recorded(fault) }))
          : null,
      ...{ id: remembered?.id, bill: remembered?.bill, route: remembered?.route },
    });
  });
  await Promise.all(checked);
});

test('a refused request is told from the ledger after the service was killed, by each of its ids', async () => {
  const remembered = explained.get('explain-refused');
  const told = async (request: string) => {
    // The ledger has a refusal within a second.
    await expect
      .poll(async () => (await runWeir(['explain', request, '--data', weir.data], { env: forgotten() })).code)
      .toBe(0);
    return explain(request, forgotten());
  };
  await told('explain-refused');
  process.kill(weir.pid('service'), 'SIGKILL');
  for (const request of ['explain-refused', remembered?.id ?? '']) {
    const { story, text } = await told(request);
    expect(story).toMatchObject({
      ...{ source: 'ledger', outcome: 'refused', id: remembered?.id, key: remembered?.key, bill: null, attempts: [] },
      ...{ failure: { code: 'model_not_found', status: 400 }, refused_in_minute: 1 },
    });
    expect(text).toContain('The caller got model_not_found (HTTP 400)');
  }
  const answers = async (): Promise<number> => (await weir.chat(ask('model')).catch(() => undefined))?.status ?? 0;
  await expect.poll(answers, { interval: 200 }).toBe(200);
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a failed request names its code, its attempts and their causes after the service ended by %s',
  async (signal) => {
    alpha.set({ status: 401 });
    beta.set({ status: 500, errorJson: { error: { message: 'CUDA out of memory.', type: 'InternalServerError' } } });
    const id = await finish(ask('broken'), `explain-after-${signal}`);
    const before = await explain(id);
    const pid = weir.pid('service');
    process.kill(pid, signal);
    const isBack = async (): Promise<boolean> => {
      try {
        return weir.pid('service') !== pid && (await fetch(weir.opsUrl)).ok;
      } catch {
        return false;
      }
    };
    await expect.poll(isBack, { interval: 200 }).toBe(true);
    for (const request of [id, before.story.id]) {
      const { story, text } = await explain(request);
      expect(story).toMatchObject({
        ...{ id: before.story.id, source: 'ledger', outcome: 'failed' },
        failure: { code: 'attempts_failed', status: 502 },
        attempts: [
          { endpoint: `127.0.0.1:${alpha.port}`, fault: { status: 401, cause: 'credential-refused' } },
          { endpoint: `127.0.0.1:${beta.port}`, fault: { status: 500, cause: 'out-of-memory' } },
        ],
      });
      expect(story.attempts?.map(({ fault }) => fault)).toEqual(
        before.story.attempts?.map(({ fault }) => fault && recorded(fault)),
      );
      expect(text).toContain('The caller got attempts_failed (HTTP 502)');
      expect(text).toMatch(/it refuses the credential \(HTTP 401/);
      expect(text).toMatch(/it ran out of memory \(HTTP 500/);
    }
  },
);

test('a request that nobody knows is refused, and says who was asked', async () => {
  const { code, stderr } = await runWeir(['explain', 'nothing', '--data', weir.data]);
  expect(code).toBe(1);
  expect(stderr).toContain('There is no request nothing. None of the 1 services that answered has it.');
});

test('the live catalog tells the routes of every model, and the backends with their conditions', async () => {
  const ops = new URL(weir.opsUrl).origin;
  expect((await fetch(`${ops}/internal/catalog`)).status).toBe(401);
  const { internalToken } = await import('../../src/core/internal-token.ts');
  const { openAccounts } = await import('../../src/books/store/open-accounts.ts');
  const { liveCatalogSchema } = await import('../../src/control/core/live-catalog.ts');
  const accounts = await openAccounts(
    { kind: 'sqlite', file: `${weir.data}/weir.db` },
    { missing: 'refuse', user: 'operator' },
  );
  const token = internalToken(await accounts.sharedSecret());
  await accounts.close();
  const response = await fetch(`${ops}/internal/catalog`, { headers: { authorization: `Bearer ${token}` } });
  const catalog = liveCatalogSchema.parse(await response.json());
  expect(catalog.models.map(({ id, listed }) => [id, listed])).toContainEqual(['test/model', true]);
  const [model] = catalog.models.filter(({ id }) => id === 'test/model');
  expect(model?.routes.map(({ route, endpoints }) => [route, endpoints])).toEqual([
    ['test/model@backend-a', 1],
    ['test/model@backend-b', 1],
  ]);
  expect(model?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'Servable', 'Priced', 'Listed', 'Retiring']);
  expect(catalog.backends.map(({ name, conditions }) => [name, conditions.map(({ type }) => type)])).toEqual([
    ['backend-a', ['Accepted', 'Programmed', 'Healthy']],
    ['backend-b', ['Accepted', 'Programmed', 'Healthy']],
  ]);
  expect(JSON.stringify(catalog)).not.toContain(weir.key);
});

test('a request is explained by its id, though another was sent with that id; requests of one x-request-id are listed', async () => {
  const { story } = await explain(await finish(ask('model'), 'explain-own'));
  await finish(ask('model'), story.id);
  expect((await explain(story.id)).story.id).toBe(story.id);
  await finish(ask('model'), 'explain-own');
  const { stdout } = await runWeir(['explain', 'explain-own', '--data', weir.data]);
  expect(stdout).toMatch(/^2 requests have the x-request-id explain-own\./);
  expect(stdout).toContain(story.id);
  const { stdout: json } = await runWeir(['explain', 'explain-own', '--json', '--data', weir.data]);
  expect((JSON.parse(json) as readonly Story[]).map(({ correlation_id: sent }) => sent)).toEqual([
    'explain-own',
    'explain-own',
  ]);
});

test('what services have forgotten is listed from the ledger, beside what a stranger has sent with its x-request-id since', async () => {
  const { story } = await explain(await finish(ask('model'), 'explain-forgotten'));
  process.kill(weir.pid('service'), 'SIGKILL');
  const stranger = async (): Promise<number> => {
    const headers = { 'x-request-id': 'explain-forgotten', authorization: 'Bearer sk-weir-of-nobody' };
    const response = await weir.chat(ask('model'), headers).catch(() => undefined);
    await response?.text();
    return response?.status ?? 0;
  };
  await expect.poll(stranger, { interval: 200 }).toBe(401);
  const listed = async (): Promise<readonly string[]> => {
    const { stdout } = await runWeir(['explain', 'explain-forgotten', '--json', '--data', weir.data]);
    const found = JSON.parse(stdout) as Story | readonly Story[];
    return [found].flat().map(({ source, outcome }) => `${source} ${outcome}`);
  };
  await expect.poll(listed, { interval: 500 }).toEqual(['service refused', 'ledger completed']);
  expect((await explain(story.id)).story).toMatchObject({ id: story.id, source: 'ledger' });
});
