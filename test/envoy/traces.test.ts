import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { startSearchServer } from './support/search-server.ts';
import { forFile } from '../support/for-file.ts';

const collector = await forFile(startOtlpReceiver());
const alpha = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const beta = await forFile(startProgrammableEngine({ name: 'beta', behaviour: { reasoning: 'never' } }));
const search = await forFile(startSearchServer());
const manifests = [
  ...[backendManifest('backend-a', alpha), backendManifest('backend-b', beta)],
  modelManifest('test/model', ['backend-a', 'backend-b'], '', 1_000_000),
];
const weir = await startWeir({
  engines: [alpha, beta],
  manifests: { 'catalog.yaml': manifests.join('') },
  unlimited: true,
  env: {
    WEIR_WEB_SEARCH: `searxng:${search.url}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_SERVICE_NAME: 'gateway',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  },
});
beforeEach(() => {
  for (const engine of [alpha, beta]) engine.reset();
  search.reset();
});

const callerSpan = '00f067aa0ba902b7';
const newTraceId = (): string => randomBytes(16).toString('hex');

const ask = (more: object = {}): object => ({
  ...{ model: 'test/model', stream: true, ...more },
  messages: [{ role: 'user', content: `${canary} Tell me. [[words=12]]` }],
});

const inTrace = (traceId: string): readonly ReceivedSpan[] =>
  collector.spans().filter((span) => span.traceId === traceId);

/** The spans of a trace, once that of Envoy's edge has come and as many towards upstreams as are expected. */
async function wholeTrace(traceId: string, egressSpans: number): Promise<readonly ReceivedSpan[]> {
  await expect
    .poll(() => {
      const names = inTrace(traceId).map(({ name }) => name.split(' ')[0]);
      const count = (wanted: string): number => names.filter((name) => name === wanted).length;
      return { ingress: count('ingress'), async: count('async'), egress: count('egress'), commit: count('commit') };
    })
    .toEqual({ ingress: 1, async: 1, egress: egressSpans, commit: 1 });
  return inTrace(traceId);
}

/** The only span that meets a condition. */
function one(spans: readonly ReceivedSpan[], name: RegExp, under?: ReceivedSpan): ReceivedSpan {
  const found = spans.filter((span) => name.test(span.name) && (under === undefined || span.parentId === under.spanId));
  expect(
    found.map((span) => span.name),
    String(name),
  ).toHaveLength(1);
  return found[0] as ReceivedSpan;
}

const traceparentsOf = (engine: ProgrammableEngine): readonly unknown[] =>
  engine.requests().map(({ headers }) => headers['traceparent']);

/** The clock of a request counts whole milliseconds, and Envoy's is another. */
const toleranceMs = 3;
/** How long a process may wait for a core. */
const schedulerMs = 400;

test('a hedged, failed-over, web-searching request is one trace: right parents, times that add up, no content and no key', async () => {
  const traceId = newTraceId();
  alpha.set({ status: 500 });
  // The second round is asked of the route that has answered last, which is silent from now on.
  let toldAlpha: readonly unknown[] = [];
  void search.until(1).then(() => {
    toldAlpha = traceparentsOf(alpha);
    beta.set({ fault: 'stall', at: 'before-headers' });
    alpha.reset();
  });
  const script = [
    { call: [{ name: 'web_search', arguments: { query: `what is ${canary}` } }] },
    { say: 'It is known. The answer is 41 [cite:1].' },
  ];
  const response = await weir.messages(
    {
      ...{ model: 'test/model', max_tokens: 500, stream: true },
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      messages: [{ role: 'user', content: `${canary} What? [[demo ${JSON.stringify({ script })}]]` }],
    },
    { traceparent: `00-${traceId}-${callerSpan}-01`, 'x-request-id': 'traced-all' },
  );
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('message_stop');
  await weir.settled();
  const spans = await wholeTrace(traceId, 5);

  const ingress = one(spans, /^ingress$/);
  expect(ingress).toMatchObject({
    ...{ parentId: callerSpan, kind: 'SERVER', scope: 'envoy' },
    attributes: { 'guid:x-request-id': 'traced-all', 'http.status_code': '200' },
  });
  const stream = one(spans, /^async /, ingress);
  expect(stream).toMatchObject({ isError: false, attributes: expect.not.objectContaining({ status: 'canceled' }) });
  const request = one(spans, /^chat test\/model$/, stream);
  expect(request).toMatchObject({
    ...{ kind: 'SERVER', scope: 'weir', isError: false },
    resource: { 'service.name': 'gateway' },
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'test/model',
      'weir.surface': 'messages',
      'weir.outcome': 'completed',
      'weir.correlation_id': 'traced-all',
      'weir.attempts': 4,
    },
  });

  // Each attempt with one span of Envoy's under it, which its engine was told.
  const attempts = spans
    .filter((span) => span.parentId === request.spanId && span.name === 'chat demo-chat')
    .toSorted((a, b) => a.from - b.from);
  expect(
    attempts.map(({ kind, isError, attributes: { 'weir.route': route, ...rest } }) => [
      ...[kind, isError, route, rest['weir.attempt.reason'], rest['weir.attempt.end'], rest['error.type']],
    ]),
  ).toEqual([
    ['CLIENT', true, 'test/model@backend-a', 'first', 'failed', 'status'],
    ['CLIENT', false, 'test/model@backend-b', 'failover', 'complete', undefined],
    ['CLIENT', false, 'test/model@backend-b', 'first', 'beaten', undefined],
    ['CLIENT', false, 'test/model@backend-a', 'hedge', 'complete', undefined],
  ]);
  expect(attempts[3]?.attributes).toMatchObject({
    'gen_ai.provider.name': 'vllm',
    'gen_ai.request.model': 'demo-chat',
    'gen_ai.response.model': 'demo-chat',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.output_tokens': expect.any(Number),
    'server.address': '127.0.0.1',
    'server.port': alpha.port,
  });
  const told = attempts.map((attempt) => {
    const egress = one(spans, /^egress /, attempt);
    expect(egress).toMatchObject({ kind: 'CLIENT', scope: 'envoy', isError: attempt.isError });
    return `00-${traceId}-${egress.spanId}-01`;
  });
  expect([...toldAlpha, ...traceparentsOf(alpha)]).toEqual([told[0], told[3]]);
  expect(traceparentsOf(beta)).toEqual([told[1], told[2]]);

  const searched = one(spans, /^search the web$/, request);
  expect(searched).toMatchObject({ kind: 'CLIENT', attributes: { 'weir.search.provider': 'searxng' } });
  expect(one(spans, /^egress /, searched).attributes['upstream_cluster.name']).toBe('web_search');
  const settle = one(spans, /^settle$/, request);
  const commit = one(spans, /^commit$/, settle);

  // Every span hangs on another one of the trace, and lies within it.
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  expect(byId.size).toBe(spans.length);
  for (const span of spans) {
    if (span === ingress) continue;
    const parent = byId.get(span.parentId ?? '');
    expect(parent, span.name).toBeDefined();
    expect(span.from, span.name).toBeGreaterThanOrEqual((parent?.from ?? 0) - toleranceMs);
    // The scheduler decides which process notices an end last. Envoy's stream to the service ends when the service closes it.
    const isOfOneProcess = span.scope === parent?.scope && !span.name.includes('ExternalProcessor');
    const latest = (parent?.to ?? 0) + (isOfOneProcess ? toleranceMs : schedulerMs);
    expect(span.to, span.name).toBeLessThanOrEqual(latest);
  }

  // The stages follow each other without a gap, up to the first attempt; the settlement follows the last one.
  const stages = ['admission', 'receive body', 'read body', 'plan'].map((name) =>
    one(spans, new RegExp(`^${name}$`), request),
  );
  const ends = [request.from, ...stages.map(({ to }) => to)];
  for (const [index, stage] of stages.entries()) expect(stage.from).toBeCloseTo(ends[index] ?? 0, 2);
  const [first, failover, , hedge] = attempts as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan];
  const inOrder = [stages[3]?.to ?? 0, first.from, first.to, failover.from, failover.to, searched.to, hedge.from];
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
  expect(settle.from).toBeGreaterThanOrEqual(hedge.to);
  expect(commit.to).toBeCloseTo(settle.to, 2);
  const pieces = [...stages, first, failover, settle].reduce((sum, { from, to }) => sum + to - from, 0);
  expect(pieces + searched.to - searched.from + hedge.to - hedge.from).toBeLessThanOrEqual(
    request.to - request.from + toleranceMs,
  );
  // A hedge begins when the first one has been silent for long.
  expect(hedge.from - (attempts[2]?.from ?? 0)).toBeGreaterThan(500);

  // What was exported says nothing of what was said.
  expect(collector.text()).not.toContain(canary);
  expect(collector.text()).not.toContain(weir.key);
  const record = (): string | undefined =>
    weir
      .log()
      .split('\n')
      .find((line) => line.includes('"request ended"') && line.includes('traced-all'));
  await expect.poll(record).toContain(`"traceId":"${traceId}"`);
});

test('a caller that has decided against its trace gets none, and its engine hears of that', async () => {
  const [silent, loud] = [newTraceId(), newTraceId()];
  for (const [traceId, flag] of [
    [silent, '00'],
    [loud, '01'],
  ]) {
    const response = await weir.chat(ask(), {
      ...{ traceparent: `00-${traceId}-${callerSpan}-${flag}`, 'x-request-id': `flag-${flag}` },
    });
    await response.text();
  }
  await wholeTrace(loud, 1);
  expect(inTrace(silent)).toEqual([]);
  expect(traceparentsOf(alpha)).toEqual([
    expect.stringMatching(new RegExp(`^00-${silent}-[0-9a-f]{16}-00$`)),
    expect.stringMatching(new RegExp(`^00-${loud}-[0-9a-f]{16}-01$`)),
  ]);
  const record = (): string | undefined =>
    weir
      .log()
      .split('\n')
      .find((line) => line.includes('flag-00'));
  await expect.poll(record).toContain('"request ended"');
  expect(record()).not.toContain('traceId');
});

test.each(['garbage', `00-${'0'.repeat(32)}-${callerSpan}-01`])(
  'a malformed traceparent (%s) begins a trace of the service',
  async (traceparent) => {
    const id = `malformed-${traceparent.length}`;
    const before = new Set(collector.spans().map(({ traceId }) => traceId));
    const response = await weir.chat(ask(), { traceparent, 'x-request-id': id });
    await response.text();
    const requestOf = (): ReceivedSpan | undefined =>
      collector.spans().find((span) => span.attributes['weir.correlation_id'] === id);
    await expect.poll(requestOf).toBeDefined();
    const request = requestOf() as ReceivedSpan;
    expect(before).not.toContain(request.traceId);
    expect(request.parentId).toBeUndefined();
    await expect.poll(() => inTrace(request.traceId).filter(({ name }) => name.startsWith('egress'))).toHaveLength(1);
    expect(traceparentsOf(alpha)).toEqual([expect.stringContaining(`00-${request.traceId}-`)]);
  },
);

test('every answer names its request, those that Envoy gives by itself too', async () => {
  for (const [path, init, status] of [
    ['/v1/models', {}, 200],
    ['/nowhere', {}, 404],
    ['/v1/chat/completions', { method: 'POST', body: '{}' }, 401],
  ] as const) {
    const response = await weir.fetch(`${weir.origin}${path}?key=${canary}`, init);
    await response.text();
    expect(response.status, path).toBe(status);
    const id = response.headers.get('x-request-id');
    expect(id, path).toMatch(/^[0-9a-f-]{36}$/);
    await expect
      .poll(() =>
        collector.spans().filter((span) => span.attributes['guid:x-request-id'] === id && span.name === 'ingress'),
      )
      .toMatchObject([{ attributes: { 'http.url': `${weir.origin}${path}`, 'http.status_code': String(status) } }]);
  }
  expect(collector.text()).not.toContain(canary);
});

test('what is left is sent when the gateway ends', async () => {
  const traceId = newTraceId();
  const response = await weir.chat(ask(), { traceparent: `00-${traceId}-${callerSpan}-01` });
  await response.text();
  await weir.close();
  expect(inTrace(traceId).map(({ name }) => name)).toEqual(expect.arrayContaining(['chat test/model', 'commit']));
});

test('a collector that does not answer holds up no request, and no end for longer than its bound', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const away = await startWeir({
    engines: [alpha],
    unlimited: true,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      // Longer than anybody would wait at the end.
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    },
  });
  for (let asked = 0; asked < 5; asked += 1) {
    const response = await away.chat(ask({ stream: false }));
    expect(response.status).toBe(200);
    await response.text();
  }
  await expect.poll(() => sockets.size).toBeGreaterThan(0);
  await away.close();
  // The supervisor did not have to kill it.
  expect(away.left()).toEqual([]);
  for (const socket of sockets) socket.destroy();
  silent.close();
});
