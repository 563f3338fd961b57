import type { z } from 'zod';
import { fieldPath } from '../../core/failure.ts';
import { didYouMean } from '../../core/near-name.ts';
import { type PickerSettings, pickerSettingsSchema } from './picker-settings.ts';
import {
  type PortalSettings,
  portalSettingsSchema,
  type Settings,
  settingsSchema,
  type StartSettings,
  startSettingsSchema,
} from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of all programs. Every program accepts them, because a machine or an image may set them for all at once. */
const knownNames = Object.keys({
  ...startSettingsSchema.shape,
  ...pickerSettingsSchema.shape,
});

/** Reads the settings of `weir serve`. Throws an Error that names every bad setting. An empty variable counts as unset. */
export function readSettings(environment: Environment): Settings {
  return read(environment, settingsSchema);
}

/** Reads the settings of `weir portal` in the same way. */
export function readPortalSettings(environment: Environment): PortalSettings {
  return read(environment, portalSettingsSchema);
}

/** Reads the settings of `weir picker` in the same way. */
export function readPickerSettings(environment: Environment): PickerSettings {
  return read(environment, pickerSettingsSchema);
}

/** Reads the settings of `weir start` in the same way. */
export function readStartSettings(environment: Environment): StartSettings {
  return read(environment, startSettingsSchema);
}

/** Reads some settings for a command that needs no others and refuses no unknown ones. Throws like `readSettings`. */
export function readSome<Schema extends z.ZodObject>(environment: Environment, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(setByOperator(environment));
  if (!parsed.success) throw new Error(problemsOf(parsed.error).join('; '));
  return parsed.data;
}

function read<Schema extends z.ZodObject>(environment: Environment, schema: Schema): z.output<Schema> {
  const given = setByOperator(environment);
  const unknown = Object.keys(given).filter((name) => name.startsWith('WEIR_') && !knownNames.includes(name));
  const parsed = schema.safeParse(given);
  const problems = [
    ...unknown.map((name) => `${name}: there is no such setting${didYouMean(name, knownNames)}`),
    ...problemsOf(parsed.error),
  ];
  if (!parsed.success || problems.length > 0) throw new Error(problems.join('; '));
  return parsed.data;
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
