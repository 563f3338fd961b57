import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { load, type MethodDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';

/** A span as a collector got it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined: the trace begins with it. */
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT';
  /** Milliseconds since the Unix epoch. */
  readonly from: number;
  readonly to: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Who made it. */
  readonly scope: string;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector of traces that keeps what it gets. */
export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly spans: () => readonly ReceivedSpan[];
  /** All texts that came, as they were sent: for what must not be in them. */
  readonly text: () => string;
  /** Headers, or metadata, of the last export. */
  readonly headers: () => Readonly<Record<string, unknown>>;
  readonly exports: () => number;
  readonly close: () => Promise<void>;
}

const protoFile = join(import.meta.dirname, '..', '..', 'protos', 'otlp_traces.proto');
const requestType = 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest';
const serviceName = 'opentelemetry.proto.collector.trace.v1.TraceService';

/** The JSON form of OTLP, which is also what the decoded protobuf is turned into. Ids are hex. */
interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name?: string };
      readonly spans?: readonly RawSpan[];
    }[];
  }[];
}
interface KeyValue {
  readonly key: string;
  readonly value?: AnyValue;
}
interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
}
interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly KeyValue[];
  readonly status?: { readonly code?: number };
}

const kinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT'];

function valueOf(value: AnyValue | undefined): unknown {
  if (value?.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf);
  if (value?.intValue !== undefined) return Number(value.intValue);
  return value?.stringValue ?? value?.boolValue ?? value?.doubleValue;
}

const recordOf = (attributes: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function spansIn({ resourceSpans = [] }: Exported): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentId: span.parentSpanId === undefined || span.parentSpanId === '' ? undefined : span.parentSpanId,
        name: span.name,
        kind: (kinds[span.kind] ?? '') as ReceivedSpan['kind'],
        from: Number(span.startTimeUnixNano) / 1e6,
        to: Number(span.endTimeUnixNano) / 1e6,
        isError: span.status?.code === 2,
        attributes: recordOf(span.attributes),
        scope: scope?.name ?? '',
        resource: recordOf(resource?.attributes),
      })),
    ),
  );
}

/** Ids are bytes in protobuf. */
const withHexIds = (decoded: object): Exported =>
  JSON.parse(
    JSON.stringify(decoded, (key, value: unknown) =>
      /^(traceId|spanId|parentSpanId)$/.test(key) ? Buffer.from(String(value), 'base64').toString('hex') : value,
    ),
  ) as Exported;

/** Starts a collector that speaks one of the protocols on a free port of the loopback. */
export async function startOtlpReceiver(protocol: 'http' | 'grpc' = 'http'): Promise<OtlpReceiver> {
  const type = (await protobuf.load(protoFile)).lookupType(requestType);
  const decode = (bytes: Uint8Array): Exported =>
    withHexIds(type.toObject(type.decode(bytes), { longs: String, enums: Number, bytes: String }));
  let spans: readonly ReceivedSpan[] = [];
  let text = '';
  let headers: Readonly<Record<string, unknown>> = {};
  let exports = 0;
  const take = (exported: Exported, raw: Uint8Array, given: Readonly<Record<string, unknown>>): void => {
    spans = [...spans, ...spansIn(exported)];
    text += Buffer.from(raw).toString('latin1');
    headers = given;
    exports += 1;
  };
  const started = protocol === 'http' ? await listenHttp(decode, take) : await listenGrpc(decode, take);
  return {
    ...started,
    spans: () => spans,
    text: () => text,
    headers: () => headers,
    exports: () => exports,
  };
}

type Take = (exported: Exported, raw: Uint8Array, headers: Readonly<Record<string, unknown>>) => void;
type Decode = (bytes: Uint8Array) => Exported;

async function listenHttp(decode: Decode, take: Take): Promise<Pick<OtlpReceiver, 'endpoint' | 'close'>> {
  const read = (bytes: Buffer, headers: IncomingHttpHeaders): void => {
    const body = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
    const isJson = headers['content-type'] === 'application/json';
    take(isJson ? (JSON.parse(body.toString()) as Exported) : decode(body), body, headers);
  };
  const server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      if (request.url !== '/v1/traces') response.writeHead(404).end();
      else {
        read(bytes, request.headers);
        response.writeHead(200, { 'content-type': request.headers['content-type'] ?? '' }).end();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function listenGrpc(decode: Decode, take: Take): Promise<Pick<OtlpReceiver, 'endpoint' | 'close'>> {
  const service = (await load(protoFile))[serviceName] as Record<string, MethodDefinition<object, object>>;
  const server = new Server();
  const raw = { ...service['Export'], requestDeserialize: (bytes: Buffer) => bytes };
  server.addService({ Export: raw } as never, {
    Export: ({ request, metadata }: ServerUnaryCall<Buffer, object>, answer: (error: null, value: object) => void) => {
      take(decode(request), request, metadata.getMap());
      answer(null, {});
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => server.forceShutdown(),
  };
}
