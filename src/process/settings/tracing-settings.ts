/**
 * OpenTelemetry's own environment variables, only those for Weir's own decisions. The SDK's exporter reads headers,
 * timeout, compression and certificates itself.
 *
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
import { z } from 'zod';
import { fieldPath } from '../../core/failure.ts';
import type { TraceSampling } from '../../core/trace.ts';

const protocols = ['grpc', 'http/protobuf', 'http/json'] as const;
type OtlpProtocol = (typeof protocols)[number];

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** `argument`: OTEL_TRACES_SAMPLER_ARG contains the ratio. */
const samplers: Readonly<
  Record<(typeof samplerNames)[number], { readonly followsCaller: boolean; readonly ratio: number | 'argument' }>
> = {
  always_on: { followsCaller: false, ratio: 1 },
  always_off: { followsCaller: false, ratio: 0 },
  traceidratio: { followsCaller: false, ratio: 'argument' },
  parentbased_always_on: { followsCaller: true, ratio: 1 },
  parentbased_always_off: { followsCaller: true, ratio: 0 },
  parentbased_traceidratio: { followsCaller: true, ratio: 'argument' },
};

/** How traces are recorded and where they go. */
export interface TracingSettings {
  readonly protocol: OtlpProtocol;
  readonly sampling: TraceSampling;
  /** Undefined: OpenTelemetry's default. */
  readonly batches: {
    readonly scheduledDelayMillis: number | undefined;
    readonly exportTimeoutMillis: number | undefined;
    readonly maxQueueSize: number | undefined;
    readonly maxExportBatchSize: number | undefined;
  };
}

const oneOf = <Name extends string>(names: readonly Name[]) =>
  z.enum(names, { error: `expected one of ${names.join(', ')}` });

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `expected a whole number from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.number(`expected a whole number from ${least} to ${most}`).min(least).max(most))
    .optional();

const addressForm = 'expected an address such as http://otel-collector:4318';
const isUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');
/** gRPC also accepts an endpoint without a scheme. */
const isHostAndPort = (text: string): boolean => /^[\w.-]+:\d+$/.test(text);
const endpoint = z
  .string()
  .refine((text) => isUrl(text) || isHostAndPort(text), addressForm)
  .optional();

const headers = z
  .string()
  .regex(/^\s*[^=,\s]+=[^,]*(,\s*[^=,\s]+=[^,]*)*,?\s*$/, 'expected NAME=VALUE with commas between them')
  .optional();

const milliseconds = wholeNumber(1, 600_000);
const compression = oneOf(['gzip', 'none']).optional();
const protocolName = oneOf(protocols).optional();

const schema = z.object({
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'none']).default('otlp'),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocolName,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocolName,
  OTEL_EXPORTER_OTLP_HEADERS: headers,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers,
  OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: milliseconds,
  OTEL_EXPORTER_OTLP_COMPRESSION: compression,
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression,
  OTEL_TRACES_SAMPLER: oneOf(samplerNames).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0|1|0?\.\d+|0\.\d*|1\.0*)$/, 'expected a number from 0 to 1, such as 0.01')
    .transform(Number)
    .default(1),
  OTEL_PROPAGATORS: z
    .string()
    .refine((text) => /(^|,)\s*tracecontext\s*(,|$)/.test(text), 'expected tracecontext among them: no other is spoken')
    .optional(),
  OTEL_BSP_SCHEDULE_DELAY: wholeNumber(1, 600_000),
  OTEL_BSP_EXPORT_TIMEOUT: milliseconds,
  OTEL_BSP_MAX_QUEUE_SIZE: wholeNumber(1, 1_000_000),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: wholeNumber(1, 1_000_000),
});

/**
 * Reads how traces are recorded. Undefined: traces are not recorded, because no endpoint is named, OTEL_SDK_DISABLED is
 * `true`, or OTEL_TRACES_EXPORTER is `none`; the other variables are then not checked. Throws an Error that names every
 * bad variable. An empty variable counts as unset.
 */
export function readTracingSettings(
  environment: Readonly<Record<string, string | undefined>>,
): TracingSettings | undefined {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
  const isOff = given['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || given['OTEL_TRACES_EXPORTER'] === 'none';
  const hasEndpoint = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' in given || 'OTEL_EXPORTER_OTLP_ENDPOINT' in given;
  if (isOff || !hasEndpoint) return undefined;
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    throw new Error(parsed.error.issues.map(({ path, message }) => `${fieldPath(path)}: ${message}`).join('; '));
  }
  const { data } = parsed;
  const protocol = data.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? data.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const) {
    const text = data[name];
    if (text !== undefined && protocol !== 'grpc' && !isUrl(text)) throw new Error(`${name}: ${addressForm}`);
  }
  const { followsCaller, ratio } = samplers[data.OTEL_TRACES_SAMPLER];
  return {
    protocol,
    sampling: { followsCaller, ratio: ratio === 'argument' ? data.OTEL_TRACES_SAMPLER_ARG : ratio },
    batches: {
      scheduledDelayMillis: data.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: data.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize: data.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: data.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
    },
  };
}
