import type { z } from 'zod';
import { fieldPath } from '../../core/failure.ts';
import { didYouMean } from '../../core/near-name.ts';
import { isHttpUrl, otlpAddressForm } from './setting-forms.ts';
import {
  pickerSettingsSchema,
  portalSettingsSchema,
  settingsSchema,
  startSettingsSchema,
  tracingSettingsSchema,
} from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of all programs. Every program accepts them, because a machine or an image may set them for all at once. */
const knownNames = Object.keys({ ...startSettingsSchema.shape, ...pickerSettingsSchema.shape });

// Each throws an Error that names every bad setting. An empty variable counts as unset.
export const readSettings = readerOf(settingsSchema);
export const readPortalSettings = readerOf(portalSettingsSchema);
export const readPickerSettings = readerOf(pickerSettingsSchema);
export const readStartSettings = readerOf(startSettingsSchema);

/** Reads some settings for a command that needs no others and refuses no unknown ones. Throws like `readSettings`. */
export function readSome<Schema extends z.ZodObject>(environment: Environment, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(setByOperator(environment));
  if (!parsed.success) throw new Error(problemsOf(parsed.error).join('; '));
  return parsed.data;
}

function readerOf<Schema extends z.ZodObject>(schema: Schema): (environment: Environment) => z.output<Schema> {
  return (environment) => {
    const given = setByOperator(environment);
    const unknown = Object.keys(given).filter((name) => name.startsWith('WEIR_') && !knownNames.includes(name));
    const parsed = schema.safeParse(given);
    const problems = [
      ...unknown.map((name) => `${name}: there is no such setting${didYouMean(name, knownNames)}`),
      ...problemsOf(parsed.error),
    ];
    if (!parsed.success || problems.length > 0) throw new Error(problems.join('; '));
    return parsed.data;
  };
}

function problemsOf(error: z.ZodError | undefined): readonly string[] {
  return (error?.issues ?? []).map((issue) => `${fieldPath(issue.path)}: ${issue.message}`);
}

/** The variables that are set, without those that Kubernetes adds for a Service whose name begins with `weir`. */
function setByOperator(environment: Environment): Readonly<Record<string, string>> {
  const services = Object.keys(environment).flatMap((name) => /^(WEIR(?:_.+)?)_SERVICE_HOST$/.exec(name)?.[1] ?? []);
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => {
      if (value === undefined || value === '') return [];
      const isAdded = services.some((service) => isServiceLink({ service, name, value }));
      return isAdded ? [] : [[name, value]];
    }),
  );
}

const endsOfLinks = /^_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;

/**
 * Whether Kubernetes has added this variable to a container for a Service (`enableServiceLinks` of the pod). A Service `weir-ops` gets
 * a WEIR_OPS_PORT such as `tcp://10.0.0.1:9090`, which has the name of a setting.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
function isServiceLink(link: { readonly service: string; readonly name: string; readonly value: string }): boolean {
  const { service, name, value } = link;
  if (!name.startsWith(service)) return false;
  const end = name.slice(service.length);
  return end === '_PORT' ? /^(tcp|udp|sctp):\/\//.test(value) : endsOfLinks.test(end);
}

/**
 * Reads how traces are recorded. Undefined: traces are not recorded, because no endpoint is named, OTEL_SDK_DISABLED is
 * `true`, or OTEL_TRACES_EXPORTER is `none`; the other variables are then not checked. Throws like `readSettings`.
 */
export function readTracingSettings(environment: Environment) {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
  const isOff = given['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || given['OTEL_TRACES_EXPORTER'] === 'none';
  const hasEndpoint = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' in given || 'OTEL_EXPORTER_OTLP_ENDPOINT' in given;
  if (isOff || !hasEndpoint) return undefined;
  const data = readSome(given, tracingSettingsSchema);
  const protocol = data.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? data.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const) {
    const endpoint = data[name];
    if (endpoint !== undefined && protocol !== 'grpc' && !isHttpUrl(endpoint)) {
      throw new Error(`${name}: ${otlpAddressForm}`);
    }
  }
  const { followsCaller, ratio } = data.OTEL_TRACES_SAMPLER;
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

/** How traces are recorded and where they go. An undefined figure of `batches` is OpenTelemetry's default. */
export type TracingSettings = NonNullable<ReturnType<typeof readTracingSettings>>;
