import { describe, expect, it } from 'vitest';
import { readTracingSettings } from './tracing-settings.ts';

const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('tracing', () => {
  it.each([
    ['no endpoint is named', { OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'weir' }],
    ['the endpoint is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['only metrics have one', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' }],
    ['the SDK is disabled', { ...on, OTEL_SDK_DISABLED: 'True' }],
    ['traces have no exporter', { ...on, OTEL_TRACES_EXPORTER: 'none' }],
    // They may be meant for another program of the machine.
    ['there is no endpoint, whatever else is wrong', { OTEL_TRACES_SAMPLER: 'sometimes' }],
  ])('is off where %s', (_, environment) => {
    expect(readTracingSettings(environment)).toBeUndefined();
  });

  it('is on where an endpoint is named, with the defaults of OpenTelemetry', () => {
    const defaults = {
      protocol: 'http/protobuf',
      sampling: { followsCaller: true, ratio: 1 },
      batches: {},
    };
    expect(readTracingSettings(on)).toEqual(defaults);
    expect(readTracingSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' })).toEqual(defaults);
    expect(readTracingSettings({ ...on, OTEL_SDK_DISABLED: 'false' })).toEqual(defaults);
  });

  it('takes the variable of traces before that of all signals', () => {
    const both = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' };
    expect(readTracingSettings({ ...on, ...both })?.protocol).toBe('http/json');
    expect(readTracingSettings({ ...on, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.protocol).toBe('grpc');
  });

  it.each([
    ['always_on', '0.5', { followsCaller: false, ratio: 1 }],
    ['always_off', undefined, { followsCaller: false, ratio: 0 }],
    ['traceidratio', '0.25', { followsCaller: false, ratio: 0.25 }],
    ['parentbased_always_on', undefined, { followsCaller: true, ratio: 1 }],
    ['parentbased_always_off', undefined, { followsCaller: true, ratio: 0 }],
    ['parentbased_traceidratio', '.01', { followsCaller: true, ratio: 0.01 }],
    ['parentbased_traceidratio', undefined, { followsCaller: true, ratio: 1 }],
  ])('samples as %s with %s says', (sampler, argument, sampling) => {
    const variables = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    expect(readTracingSettings({ ...on, ...variables })?.sampling).toEqual(sampling);
  });

  it('reads how spans are batched', () => {
    const variables = {
      ...{ OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_BSP_MAX_QUEUE_SIZE: '64' },
      OTEL_PROPAGATORS: 'baggage, tracecontext',
    };
    expect(readTracingSettings({ ...on, ...variables })?.batches).toEqual({
      scheduledDelayMillis: 100,
      maxQueueSize: 64,
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_PROPAGATORS', 'b3'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ])('refuses %s=%s by the name of the variable and what was expected', (name, value) => {
    expect(() => readTracingSettings({ ...on, [name]: value })).toThrow(new RegExp(`^${name}: expected `));
  });

  it('takes an endpoint without a scheme for gRPC alone', () => {
    const bare = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' };
    expect(readTracingSettings({ ...bare, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.protocol).toBe('grpc');
    expect(() => readTracingSettings(bare)).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT: expected an address such as http://');
  });

  it('does not quote headers, which hold credentials', () => {
    expect(() => readTracingSettings({ ...on, OTEL_EXPORTER_OTLP_HEADERS: 'CANARY' })).not.toThrow('CANARY');
  });
});
