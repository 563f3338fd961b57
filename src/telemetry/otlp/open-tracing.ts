import { ROOT_CONTEXT } from '@opentelemetry/api';
import { RandomIdGenerator, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import type { RequestHead } from '../../core/exchange.ts';
import { readTraceparent, type RequestTrace, type TraceSampling } from '../../core/trace.ts';
import { receiveEnvoySpans } from './envoy-spans.ts';
import { openSpanExport, type SpanExportOptions } from './span-exporter.ts';

export interface TracingOptions extends SpanExportOptions {
  readonly sampling: TraceSampling;
  /** Path of the Unix socket to which Envoy sends its spans. */
  readonly socketPath: string;
}

/** Exists only if tracing is on. */
export type Tracing = Awaited<ReturnType<typeof openTracing>>;

/** Starts to receive Envoy's spans and to export them with our own. */
export async function openTracing(options: TracingOptions) {
  const exporting = await openSpanExport(options);
  const envoy = await receiveEnvoySpans({ socketPath: options.socketPath, take: exporting.take });
  return {
    /** The place of a request in its trace. */
    traceOf: createTraceOf(options.sampling),
    /** Exports spans. Never waits. */
    tellSpans: exporting.take,
    /** Sends the waiting spans, for at most `graceMs`. False: an attempt to send is still in progress, and cannot be stopped. */
    close: async (graceMs: number): Promise<boolean> => {
      await envoy.close();
      return exporting.close(graceMs);
    },
  };
}

/**
 * Finds the place of a request in its trace. Usually the request is under Envoy's span of its exchange, and Envoy's
 * sampler has decided whether the trace is recorded. If Envoy made no span (the caller's `traceparent` is malformed, or
 * another Envoy without a tracer is the edge), the request is under the caller's span, or else in a new trace, by our
 * sampler.
 */
export function createTraceOf({ followsCaller, ratio }: TraceSampling): (head: RequestHead) => RequestTrace {
  const ids = new RandomIdGenerator();
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const isChosen = (traceId: string): boolean =>
    sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;

  return (head) => {
    const fromEnvoy = readTraceparent(head.traceparent?.() ?? '');
    const parent = fromEnvoy ?? readTraceparent(head.header('traceparent') ?? '');
    const traceId = parent?.traceId ?? ids.generateTraceId();
    const isDecided = parent !== undefined && (fromEnvoy !== undefined || followsCaller);
    const isSampled = isDecided ? parent.isSampled : isChosen(traceId);
    if (!isSampled) {
      const place = { traceId, spanId: parent?.spanId ?? ids.generateSpanId(), isSampled };
      return { place, parentId: undefined, child: () => place };
    }
    const child = () => ({ traceId, spanId: ids.generateSpanId(), isSampled });
    return { place: child(), parentId: parent?.spanId, child };
  };
}
