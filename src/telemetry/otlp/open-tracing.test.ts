// @suite apart
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { load, type MethodDefinition } from '@grpc/proto-loader';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../test/support/free-port.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../../test/support/otlp-receiver.ts';
import type { EndedSpan } from '../../core/trace.ts';
import { createTraceOf, openTracing, type TracingOptions } from './open-tracing.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const parentId = '1111111111111111';
const failedId = '2222222222222222';

const sample: EndedSpan = {
  ...{ traceId, spanId, parentId, name: 'chat test/m', kind: 'server', madeBy: 'weir', isError: true },
  startedAt: 1_790_000_000_000.25,
  endedAt: 1_790_000_000_010.75,
  attributes: { text: 'a', count: 3, ratio: 0.5, flag: true, list: ['x', 'y'], nothing: undefined },
};

let folder: string;
let socketPath: string;
let logged: { readonly level: string; readonly message: string; readonly facts: object }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-traces-'));
  socketPath = join(folder, 'traces.sock');
  logged = [];
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

const log = {
  info: (facts: object, message: string) => logged.push({ level: 'info', message, facts }),
  warn: (facts: object, message: string) => logged.push({ level: 'warn', message, facts }),
} as unknown as TracingOptions['log'];

const quickly = { scheduledDelayMillis: 5, exportTimeoutMillis: undefined };

function start(changes: Partial<TracingOptions> = {}) {
  return openTracing({
    protocol: 'http/protobuf',
    sampling: { followsCaller: true, ratio: 1 },
    batches: { ...quickly, maxQueueSize: undefined, maxExportBatchSize: undefined },
    ...{ resource: { 'service.name': 'weir', 'service.version': '1' }, log, socketPath },
    ...changes,
  });
}

async function collector(protocol: 'http' | 'grpc' = 'http'): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver(protocol);
  onTestFinished(receiver.close);
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.endpoint);
  return receiver;
}

describe('spans', () => {
  it.each([
    ['http/protobuf', 'http'],
    ['http/json', 'http'],
    ['grpc', 'grpc'],
  ] as const)('reach a collector by %s, with the headers and the resource of the variables', async (protocol, kind) => {
    const receiver = await collector(kind);
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20let-me-in,x-team=blue');
    vi.stubEnv('OTEL_SERVICE_NAME', 'gateway');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test,service.version=2');
    const tracing = await start({ protocol });
    tracing.tellSpans([sample]);
    await expect.poll(() => receiver.spans()).toHaveLength(1);
    expect(receiver.headers()).toMatchObject({ authorization: 'Bearer let-me-in', 'x-team': 'blue' });
    expect(receiver.spans()).toEqual([
      {
        ...{ traceId, spanId, parentId, name: 'chat test/m', kind: 'SERVER', isError: true, scope: 'weir' },
        from: sample.startedAt,
        to: sample.endedAt,
        attributes: { text: 'a', count: 3, ratio: 0.5, flag: true, list: ['x', 'y'] },
        resource: { 'service.name': 'gateway', 'service.version': '2', 'deployment.environment.name': 'test' },
      },
    ]);
    expect(await tracing.close(1000)).toBe(true);
    expect(logged).toEqual([]);
  });

  it('are compressed when the variable says so', async () => {
    const receiver = await collector();
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    const tracing = await start();
    tracing.tellSpans([sample]);
    await tracing.close(1000);
    expect(receiver.headers()).toMatchObject({ 'content-encoding': 'gzip' });
    expect(receiver.spans()).toHaveLength(1);
  });

  it('that wait are sent at the end', async () => {
    const receiver = await collector();
    const tracing = await start({
      batches: { ...quickly, scheduledDelayMillis: 600_000, maxQueueSize: 10, maxExportBatchSize: 4 },
    });
    tracing.tellSpans(Array.from({ length: 10 }, () => ({ ...sample, parentId: undefined })));
    expect(await tracing.close(5000)).toBe(true);
    expect(receiver.spans().map((span) => span.parentId)).toEqual(Array.from({ length: 10 }, () => undefined));
    expect(receiver.exports()).toBe(3);
  });

  it('are dropped with one warning while the collector takes none, and the end of that is logged', async () => {
    let asked = 0;
    let status = 400;
    const server = createHttpServer((_, response) => {
      asked += 1;
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const tracing = await start();
    for (const batch of [1, 2, 3]) {
      tracing.tellSpans([sample]);
      await expect.poll(() => asked).toBe(batch);
    }
    status = 200;
    tracing.tellSpans([sample]);
    await expect.poll(() => logged).toHaveLength(2);
    expect(logged).toEqual([
      { level: 'warn', message: 'span export failed: dropping spans', facts: { reason: '400' } },
      { level: 'info', message: 'span export recovered', facts: { lostSpans: 3 } },
    ]);
    await tracing.close(1000);
    server.close();
    server.closeAllConnections();
  });

  it('are dropped with the reason when the collector is away', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${await freePort()}`);
    // Below the time after which the exporter would try again.
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '700');
    const tracing = await start();
    tracing.tellSpans([sample]);
    await expect.poll(() => logged).toMatchObject([{ level: 'warn', facts: { reason: 'ECONNREFUSED' } }]);
    await tracing.close(1000);
  });

  it('are given up after the bound at the end, when the collector does not answer', async () => {
    const sockets = new Set<{ destroy: () => unknown }>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '600000');
    const tracing = await start();
    tracing.tellSpans([sample]);
    await expect.poll(() => sockets.size).toBe(1);
    // Without the bound the test would wait for the exporter's own limit.
    expect(await tracing.close(100)).toBe(false);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('are not waited for by who tells them, however many there are', async () => {
    const receiver = await collector();
    const tracing = await start({
      batches: { ...quickly, scheduledDelayMillis: 600_000, maxQueueSize: 100, maxExportBatchSize: 100 },
    });
    for (let made = 0; made < 10_000; made += 1) tracing.tellSpans([sample]);
    await tracing.close(5000);
    // A batch was on its way at once, and behind it the queue had room for another.
    expect(receiver.spans().length).toBeLessThanOrEqual(200);
  });
});

describe('a certificate that cannot be read', () => {
  it('is logged with its variable at the start', async () => {
    await collector();
    vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', join(folder, 'nothing.pem'));
    const tracing = await start();
    expect(logged.map(({ message }) => message)).toEqual([expect.stringContaining('root certificate')]);
    await tracing.close(1000);
  });
});

const serviceName = 'opentelemetry.proto.collector.trace.v1.TraceService';
const protoFile = join(import.meta.dirname, '..', '..', '..', 'protos', 'otlp_traces.proto');

/** Exports spans to the socket as Envoy does. */
async function exportAsEnvoy(spans: readonly object[]): Promise<void> {
  const service = (await load(protoFile, { keepCase: true, enums: String }))[serviceName] as unknown as Readonly<
    Record<string, MethodDefinition<object, object>>
  >;
  const method = service['Export'];
  if (method === undefined) throw new Error('no such method');
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
  await new Promise<void>((resolve, reject) =>
    client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      { resource_spans: [{ scope_spans: [{ spans }] }] },
      (error) => (error === null ? resolve() : reject(error)),
    ),
  );
  client.close();
}

const fromEnvoy = (changes: object = {}, attributes: Readonly<Record<string, string>> = {}): object => ({
  trace_id: Buffer.from(traceId, 'hex'),
  span_id: Buffer.from(spanId, 'hex'),
  name: 'ingress',
  kind: 'SPAN_KIND_SERVER',
  start_time_unix_nano: '1790000000000250000',
  end_time_unix_nano: '1790000000010750000',
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { string_value: value } })),
  ...changes,
});

describe('the spans of Envoy', () => {
  it('are exported with ours, under the same resource, and without the query of an address', async () => {
    const receiver = await collector();
    const tracing = await start();
    await exportAsEnvoy([
      fromEnvoy({}, { 'http.url': 'https://gateway/v1/messages?key=CANARY', 'http.method': 'POST' }),
      fromEnvoy({
        ...{ span_id: Buffer.from(parentId, 'hex'), parent_span_id: Buffer.from(spanId, 'hex') },
        ...{ kind: 'SPAN_KIND_CLIENT', name: 'egress web_search', status: { code: 'STATUS_CODE_ERROR' } },
      }),
    ]);
    await expect.poll(() => receiver.spans()).toHaveLength(2);
    expect(receiver.text()).not.toContain('CANARY');
    expect(receiver.spans()).toMatchObject([
      {
        ...{ traceId, spanId, parentId: undefined, name: 'ingress', kind: 'SERVER', isError: false, scope: 'envoy' },
        from: sample.startedAt,
        to: sample.endedAt,
        attributes: { 'http.url': 'https://gateway/v1/messages', 'http.method': 'POST' },
        resource: { 'service.name': 'weir' },
      },
      { ...{ spanId: parentId, parentId: spanId, kind: 'CLIENT', isError: true } },
    ]);
    await tracing.close(1000);
  });

  it('are exported once, though Envoy exports that of a stream twice, and what was given up is no error', async () => {
    const receiver = await collector();
    const tracing = await start();
    const name = 'async envoy.service.ext_proc.v3.ExternalProcessor.Process egress';
    const canceled = fromEnvoy({ name, status: { code: 'STATUS_CODE_ERROR' } }, { status: 'canceled' });
    const ended = { name, end_time_unix_nano: '1790000000012000000' };
    await exportAsEnvoy([canceled, fromEnvoy(ended, { status: 'canceled', 'grpc.status_code': '0' })]);
    await exportAsEnvoy([canceled]);
    await exportAsEnvoy([
      fromEnvoy(
        { span_id: Buffer.from(parentId, 'hex'), status: { code: 'STATUS_CODE_ERROR' } },
        { response_flags: 'DC' },
      ),
      fromEnvoy(
        { span_id: Buffer.from(failedId, 'hex'), status: { code: 'STATUS_CODE_ERROR' } },
        { response_flags: 'DC', 'http.status_code': '500' },
      ),
    ]);
    await tracing.close(1000);
    expect(receiver.spans()).toMatchObject([
      { spanId, isError: false, attributes: { 'grpc.status_code': '0' }, to: 1_790_000_000_012 },
      { spanId: parentId, isError: false },
      { spanId: failedId, isError: true },
    ]);
    expect(receiver.spans()[0]?.attributes).not.toHaveProperty('status');
  });

  it('of a stream is not canceled when only its first copy came, and is an error when the service ended it with one', async () => {
    const receiver = await collector();
    const tracing = await start();
    const name = 'async envoy.service.ext_proc.v3.ExternalProcessor.Process egress';
    const failed = { name, span_id: Buffer.from(failedId, 'hex'), status: { code: 'STATUS_CODE_ERROR' } };
    await exportAsEnvoy([
      fromEnvoy({ name }, { status: 'canceled' }),
      fromEnvoy(failed, { status: 'canceled', 'grpc.status_code': '13' }),
      // A call of an engine that was given up says so.
      fromEnvoy({ name: 'egress engine', span_id: Buffer.from(parentId, 'hex') }, { status: 'canceled' }),
    ]);
    await tracing.close(1000);
    expect(receiver.spans()).toMatchObject([
      { spanId, isError: false, attributes: {} },
      { spanId: failedId, isError: true, attributes: { 'grpc.status_code': '13' } },
      { spanId: parentId, attributes: { status: 'canceled' } },
    ]);
    expect(receiver.spans()[0]?.attributes).toEqual({});
  });

  it('that cannot be read are left out, and the socket goes with the end', async () => {
    const receiver = await collector();
    const tracing = await start();
    await exportAsEnvoy([fromEnvoy({ trace_id: Buffer.from('short') })]);
    await tracing.close(1000);
    expect(receiver.exports()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('the place of a request in its trace', () => {
  const head = (traceparent: string | undefined, callers?: string) => ({
    ...{ method: 'POST', path: '/', traceparent: () => traceparent },
    header: (name: string) => (name === 'traceparent' ? callers : undefined),
  });
  const always = createTraceOf({ followsCaller: true, ratio: 1 });
  const never = createTraceOf({ followsCaller: true, ratio: 0 });

  it('is under the span of Envoy, by whose decision it is sampled', () => {
    const { place, parentId: under, child } = never(head(`00-${traceId}-${spanId}-01`));
    expect(place).toEqual({ traceId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/), isSampled: true });
    expect(under).toBe(spanId);
    const ids = [place.spanId, spanId, child().spanId, child().spanId];
    expect(new Set(ids).size).toBe(4);
  });

  it('is nowhere when Envoy has decided against it: what goes on to engines is what Envoy said', () => {
    const { place, child } = always(head(`00-${traceId}-${spanId}-00`, `00-${traceId}-${parentId}-01`));
    expect(place).toEqual({ traceId, spanId, isSampled: false });
    expect(child()).toBe(place);
  });

  it('is under the span of the caller where the Envoy in front makes none', () => {
    expect(never(head(undefined, `00-${traceId}-${spanId}-01`))).toMatchObject({
      place: { traceId, isSampled: true },
      parentId: spanId,
    });
    expect(always(head(undefined, `00-${traceId}-${spanId}-00`)).place.isSampled).toBe(false);
    const deaf = createTraceOf({ followsCaller: false, ratio: 1 });
    expect(deaf(head(undefined, `00-${traceId}-${spanId}-00`))).toMatchObject({ place: { traceId, isSampled: true } });
  });

  it.each([undefined, 'garbage', `00-${'0'.repeat(32)}-${spanId}-01`])('begins a trace with %s', (text) => {
    const own = always(head(undefined, text));
    expect(own).toMatchObject({ place: { isSampled: true }, parentId: undefined });
    expect(own.place.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(own.place.traceId).not.toBe(traceId);
    expect(never(head(undefined, text)).place.isSampled).toBe(false);
  });

  it('is sampled in the share that was asked for', () => {
    const some = createTraceOf({ followsCaller: true, ratio: 0.25 });
    const sampled = Array.from({ length: 4000 }, () => some(head(undefined)).place.isSampled).filter(Boolean).length;
    // Five standard deviations on either side.
    expect(sampled).toBeGreaterThan(860);
    expect(sampled).toBeLessThan(1140);
  });
});
