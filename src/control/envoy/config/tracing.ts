import type { TraceSampling } from '../../../core/trace.ts';
import { socketCluster } from './socket-cluster.ts';
import { extension, type ConfigObject } from './typed.ts';

const tracesCluster = 'weir-traces';

/**
 * Envoy's tracer on the edge: its span is the first one here, so it decides which traces are recorded. Envoy asks
 * `random_sampling` before the sampler, and below 100 overwrites what a caller has decided. So the ratio is set in the
 * sampler.
 */
export function edgeTracing({ followsCaller, ratio }: TraceSampling): ConfigObject {
  return tracing(followsCaller ? parentBased(ratio) : ofRatio(ratio));
}

/** On the egress listener. Continues the service's trace and begins none of its own. */
export const egressTracing = (): ConfigObject => tracing(parentBased(0));

function tracing(sampler: ConfigObject): ConfigObject {
  return {
    // No caller can force a trace by Envoy's own header.
    client_sampling: { value: 0 },
    random_sampling: { value: 100 },
    provider: extension('envoy.tracers.opentelemetry', 'envoy.config.trace.v3.OpenTelemetryConfig', {
      // The service replaces this name by the operator's.
      service_name: 'weir',
      grpc_service: { envoy_grpc: { cluster_name: tracesCluster }, timeout: '5s' },
      sampler,
    }),
  };
}

const samplers = 'envoy.extensions.tracers.opentelemetry.samplers.v3';

const parentBased = (ratio: number): ConfigObject =>
  extension('envoy.tracers.opentelemetry.samplers.parent_based', `${samplers}.ParentBasedSamplerConfig`, {
    wrapped_sampler: ofRatio(ratio),
  });

const ofRatio = (ratio: number): ConfigObject =>
  extension('envoy.tracers.opentelemetry.samplers.trace_id_ratio_based', `${samplers}.TraceIdRatioBasedSamplerConfig`, {
    sampling_percentage: { numerator: Math.round(ratio * 1_000_000), denominator: 'MILLION' },
  });

/**
 * Envoy sends its spans to the service, which exports them with its own
 * (docs/decisions/0053-envoy-hands-its-spans-to-the-service.md). If there are several services, any of them may get the
 * spans.
 */
export const tracingCluster = (sockets: readonly string[]): ConfigObject =>
  socketCluster(tracesCluster, { sockets, http2: {} });

/** Runtime values: a worker thread of Envoy sends its spans once a second, or as soon as it has this many. */
export const tracingRuntime: ConfigObject = {
  'tracing.opentelemetry.min_flush_spans': 512,
  'tracing.opentelemetry.flush_interval_ms': 1000,
};
