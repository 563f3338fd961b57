import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { z } from 'zod';
import type { AttributeValue, EndedSpan } from '../../core/trace.ts';
import { forgetOldest } from '../../core/put-newest.ts';

const protoFile = fileURLToPath(new URL('../../../protos/otlp_traces.proto', import.meta.url));
const serviceName = 'opentelemetry.proto.collector.trace.v1.TraceService';

const id = (bytes: number) => z.instanceof(Uint8Array).refine((value) => value.length === bytes);

/** A span of Envoy's. All of its attributes are texts. */
const span = z.object({
  trace_id: id(16),
  span_id: id(8),
  parent_span_id: z.union([id(8), id(0)]),
  name: z.string(),
  kind: z.string(),
  start_time_unix_nano: z.string(),
  end_time_unix_nano: z.string(),
  attributes: z.array(
    z.object({ key: z.string(), value: z.object({ string_value: z.string().optional() }).nullish() }),
  ),
  status: z.object({ code: z.string() }).nullish(),
});

const exported = z.object({
  resource_spans: z.array(z.object({ scope_spans: z.array(z.object({ spans: z.array(span) })) })),
});

/**
 * Receives the spans that Envoy exports.
 * Listens on a Unix socket for the spans of Envoy, which sends OTLP over gRPC. Passes them to `take` in Weir's own
 * form, for export together with Weir's spans. Envoy neither waits for an answer nor tries again.
 */
export async function receiveEnvoySpans(options: {
  readonly socketPath: string;
  readonly take: (spans: readonly EndedSpan[]) => void;
}) {
  const { socketPath, take } = options;
  const { [serviceName]: service } = await load(protoFile, {
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  if (service === undefined || 'format' in service) throw new Error(`${protoFile} does not define ${serviceName}`);
  const isFirst = createRecentIds();
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(service, {
    Export: ({ request }: ServerUnaryCall<unknown, object>, answer: sendUnaryData<object>) => {
      const read = exported.safeParse(request);
      if (read.success) {
        const spans = read.data.resource_spans.flatMap(({ scope_spans }) =>
          scope_spans.flatMap((scope) => scope.spans),
        );
        // If two copies of a span arrive together, the later one counts: it has the stream's real end and status.
        const whole = new Map(spans.map(readSpan).map((one) => [one.traceId + one.spanId, one]));
        take([...whole].flatMap(([key, one]) => (isFirst(key) ? [one] : [])));
      }
      answer(null, {});
    },
  });
  // A socket file left by a killed process stops the bind with EADDRINUSE.
  await rm(socketPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return {
    close: async (): Promise<void> => {
      server.forceShutdown();
      await rm(socketPath, { force: true });
    },
  };
}

/** As many spans as Envoy makes in some seconds. The second copy of a span arrives within a second. */
const maxRecent = 8192;

/**
 * Whether a span is new. Envoy 1.40 exports the span of its ext_proc stream twice under one id: as canceled when Envoy
 * has the whole answer, and again with the stream's status when the service has closed the stream.
 */
function createRecentIds(): (id: string) => boolean {
  const recent = new Set<string>();
  return (spanId) => {
    if (recent.has(spanId)) return false;
    recent.add(spanId);
    forgetOldest(recent, maxRecent);
    return true;
  };
}

/**
 * Envoy marks some spans as errors although they are none: its stream to the service, which Envoy ends once the answer
 * is complete, a call that the service has given up, and a caller that has left. A call that is given up because its
 * answer is an error remains an error, and so does a stream that the service has ended with an error.
 */
function isGivenUp(attributes: EndedSpan['attributes']): boolean {
  if (Number(attributes['http.status_code']) >= 500) return false;
  if (Number(attributes['grpc.status_code'] ?? 0) !== 0) return false;
  return attributes['status'] === 'canceled' || attributes['response_flags'] === 'DC';
}

/** Removes `canceled` from Envoy's stream to the service. Envoy sets it after each answer, also after a good one. */
function withoutCanceled(name: string, attributes: EndedSpan['attributes']): EndedSpan['attributes'] {
  const { status, ...others } = attributes;
  return name.includes('ExternalProcessor.Process') && status === 'canceled' ? others : attributes;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function readSpan(read: z.output<typeof span>): EndedSpan {
  const attributes: Record<string, AttributeValue> = {};
  for (const { key, value } of read.attributes) {
    const text = value?.string_value;
    // URLs lose their query. The query of a search contains words of the conversation, and that of a request may contain a key.
    if (text !== undefined) attributes[key] = key === 'http.url' ? withoutQuery(text) : text;
  }
  const { parent_span_id: parent, kind, name, status } = read;
  return {
    traceId: hex(read.trace_id),
    spanId: hex(read.span_id),
    parentId: parent.length === 0 ? undefined : hex(parent),
    name,
    kind: kind === 'SPAN_KIND_SERVER' ? 'server' : kind === 'SPAN_KIND_CLIENT' ? 'client' : 'internal',
    startedAt: milliseconds(read.start_time_unix_nano),
    endedAt: milliseconds(read.end_time_unix_nano),
    isError: status?.code === 'STATUS_CODE_ERROR' && !isGivenUp(attributes),
    attributes: withoutCanceled(name, attributes),
    madeBy: 'envoy',
  };
}

/** For today's dates, a double is exact to a quarter of a microsecond. */
const milliseconds = (nanoseconds: string): number => Number(nanoseconds) / 1_000_000;

function withoutQuery(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
