import {
  type Attributes,
  diag,
  type DiagLogger,
  DiagLogLevel,
  type HrTime,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { dependencyCauseOf, type DependencyReport } from '../../core/dependency-cause.ts';
import type { EndedSpan } from '../../core/trace.ts';

export interface SpanExportOptions {
  readonly protocol: 'grpc' | 'http/protobuf' | 'http/json';
  /** Undefined: OpenTelemetry's default. */
  readonly batches: {
    readonly scheduledDelayMillis: number | undefined;
    readonly exportTimeoutMillis: number | undefined;
    readonly maxQueueSize: number | undefined;
    readonly maxExportBatchSize: number | undefined;
  };
  /** Attributes of the service, which OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES may replace. */
  readonly resource: Readonly<Record<string, string>>;
  readonly log: SpanExportLog;
  readonly report?: DependencyReport | undefined;
}

export interface SpanExportLog {
  readonly info: (facts: object, message: string) => void;
  readonly warn: (facts: object, message: string) => void;
}

/**
 * Exports spans, in batches and in the background.
 * Exports spans with OpenTelemetry's SDK, whose exporters read the rest of their settings from OTEL_EXPORTER_OTLP_*.
 * Spans are handed to the SDK when they have ended, so none of its code runs during a request.
 */
export async function openSpanExport({ protocol, batches, resource, log, report }: SpanExportOptions) {
  // The exporter reports mistakes in its variables only to this log.
  diag.setLogger(problemLog(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = watch(await createExporter(protocol), log, report);
  diag.disable();
  const { scheduledDelayMillis, exportTimeoutMillis, maxQueueSize, maxExportBatchSize } = batches;
  const processor = new BatchSpanProcessor({
    exporter,
    ...(scheduledDelayMillis === undefined ? {} : { scheduledDelayMillis }),
    ...(exportTimeoutMillis === undefined ? {} : { exportTimeoutMillis }),
    ...(maxQueueSize === undefined ? {} : { maxQueueSize }),
    ...(maxExportBatchSize === undefined ? {} : { maxExportBatchSize }),
  });
  const described = resourceFromAttributes({ ...resource }).merge(
    detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }),
  );
  return {
    /** Takes spans. Never waits: spans above the queue's size are dropped. */
    take: (spans: readonly EndedSpan[]): void => {
      for (const span of spans) processor.onEnd(readable(span, described));
    },
    /** Sends the waiting spans, for at most `graceMs`. False: an attempt to send is still in progress, and cannot be stopped. */
    close: async (graceMs: number): Promise<boolean> => {
      const { promise: late, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => resolve(false), graceMs);
      const done = processor.shutdown().then(
        () => true,
        // Spans that could not be sent have been logged.
        () => true,
      );
      const isDone = await Promise.race([done, late]);
      clearTimeout(timer);
      return isDone;
    },
  };
}

/** Only the exporter that is wanted is loaded. */
async function createExporter(protocol: SpanExportOptions['protocol']): Promise<SpanExporter> {
  switch (protocol) {
    case 'grpc':
      return new (await import('@opentelemetry/exporter-trace-otlp-grpc')).OTLPTraceExporter();
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter();
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter();
  }
}

/** Logs when spans cannot be exported, and when they can again. Each change is logged once, not for each batch. */
function watch(exporter: SpanExporter, log: SpanExportLog, report: SpanExportOptions['report']): SpanExporter {
  let lost = 0;
  const reported = (result: ExportResult, spans: number): void => {
    if (result.code === ExportResultCode.SUCCESS) {
      if (lost > 0) log.info({ lostSpans: lost }, 'span export recovered');
      lost = 0;
      report?.succeeded();
      return;
    }
    // The error may quote headers; its name and code do not.
    const reason = reasonOf(result.error);
    report?.failed({ cause: dependencyCauseOf(result.error), reason: reason ?? '' });
    if (lost === 0) log.warn({ reason }, 'span export failed: dropping spans');
    lost += spans;
  };
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        reported(result, spans.length);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string | undefined {
  const code = error?.code;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : error?.name;
}

function problemLog(log: SpanExportLog): DiagLogger {
  const warn = (message: string): void => log.warn({}, message);
  const nothing = (): void => undefined;
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing };
}

const kinds: Readonly<Record<EndedSpan['kind'], SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
};

/** Converts a span into the form of the SDK's processors and exporters. */
function readable(span: EndedSpan, resource: ReadableSpan['resource']): ReadableSpan {
  const { traceId, spanId, parentId, name, kind, startedAt, endedAt, isError, attributes, madeBy } = span;
  const at = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED });
  const place = at(spanId);
  return {
    name,
    kind: kinds[kind],
    resource,
    ended: true,
    links: [],
    events: [],
    spanContext: () => place,
    ...(parentId === undefined ? {} : { parentSpanContext: at(parentId) }),
    startTime: hrTime(startedAt),
    endTime: hrTime(endedAt),
    duration: hrTime(endedAt - startedAt),
    status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: defined(attributes),
    instrumentationScope: { name: madeBy },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Converts milliseconds to seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1_000_000)];
}

function defined(attributes: EndedSpan['attributes']): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) kept[name] = typeof value === 'object' ? [...value] : value;
  }
  return kept;
}
