import { z } from 'zod';
import { type HostPort, readAddressPort } from '../../core/endpoint.ts';
import { eventKindOf, eventKinds as allEventKinds, eventTypes } from '../../core/event-type.ts';
import { imageHostForms, readImageHosts } from '../../core/image-hosts.ts';
import { parseUsd } from '../../core/money.ts';
import type { TraceSampling } from '../../core/trace.ts';
import { readValkeyAddress, valkeyAddressForms } from '../../core/valkey-address.ts';
import { readSearchSetting, searchForms } from '../../core/web-search.ts';

/** A setting: its form, with its bounds, choices and default, and its line in `--help` and on the pages. */
export const setting = <Form extends z.ZodType>(form: Form, help: string): Form => form.describe(help);

/** A text in a form of its own. `read` returns undefined if it has another one; `form` is the whole message. */
function formOf<Value>(read: (text: string) => Value | undefined, form: string | ((text: string) => string)) {
  return z.string().transform((text, context): Value => {
    const value = read(text);
    if (value === undefined) {
      context.addIssue({ code: 'custom', message: typeof form === 'string' ? form : form(text) });
    }
    return value ?? z.NEVER;
  });
}

/** The parts of a list with commas, each in its form; undefined if one has another form. */
function listOf<Part>(text: string, read: (part: string) => Part | undefined): readonly Part[] | undefined {
  const parts = text.split(',').map((part) => read(part.trim()));
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

export const text = z.string().min(1);

export const wholeNumber = (min: number, max: number) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    `expected a whole number from ${min} to ${max}, got "${String(input)}"`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
};

export const port = wholeNumber(0, 65_535);

/** A number from 0 to 1. */
export const share = z
  .string()
  .regex(/^(0|1|0?\.\d+|0\.\d*|1\.0*)$/, 'expected a number from 0 to 1, such as 0.01')
  .transform(Number);

export const choice = <Name extends string>(names: readonly Name[]) =>
  z.enum(names, names.length === 2 ? `expected ${names.join(' or ')}` : `expected one of ${names.join(', ')}`);

export const ipAddress = z.union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0');

/** Without those that mean something inside the gateway, or to HTTP. */
export const headerName = z
  .string()
  .regex(
    /^(?!x-weir-|x-envoy-|authorization$|x-api-key$|host$)[a-z0-9][a-z0-9-]{0,63}$/,
    'expected the name of a header in lower case, such as x-jwt-payload',
  );

/** `form`: such as `an address such as https://weir.example.com`. */
export const httpUrl = (form: string) => z.url({ protocol: /^https?$/, error: `expected ${form}` });

/** RFC 1123 label and subdomain, like the names of namespaces and pods in Kubernetes. */
const namespaceText = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const podText = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;
export const namespaceName = z
  .string()
  .regex(namespaceText, 'expected the name of a namespace: lowercase letters, digits and "-"');
export const podName = z.string().regex(podText, 'expected the name of a pod: lowercase letters, digits, "-" and "."');

/** Namespace and name of an object of Kubernetes. */
export const namespacedName = formOf(
  (given) => {
    const [namespace = '', name = '', ...more] = given.split('/');
    return more.length === 0 && namespaceText.test(namespace) && podText.test(name) ? { namespace, name } : undefined;
  },
  (given) => `expected NAMESPACE/NAME, got "${given}"`,
);

/** `none`: objects declare no accounts. */
export const accountNamespaces = z.string().transform((given, context): 'none' | readonly string[] => {
  if (given.trim() === 'none') return 'none';
  const names = given.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !namespaceText.test(name));
  if (wrong === undefined) return names;
  context.addIssue({ code: 'custom', message: `expected none, or names of namespaces with commas, got "${wrong}"` });
  return z.NEVER;
});

export const valkeyAddress = formOf(readValkeyAddress, valkeyAddressForms);
export const searchProvider = formOf(readSearchSetting, `expected ${searchForms}`);
export const imageHosts = formOf(readImageHosts, imageHostForms);

/** Highest price of a search, USD. A higher price is a slip of the decimal point. */
export const maxSearchPrice = '10';
export const searchPrice = formOf((given) => {
  const price = parseUsd(given);
  return price !== undefined && price >= 0n && price <= (parseUsd(maxSearchPrice) ?? 0n) ? price : undefined;
}, `expected USD as a decimal from 0 to ${maxSearchPrice} with at most 12 decimals, such as 0.005`);

/** The kinds of some types of events; default: all. */
export const eventKinds = formOf(
  (given) => listOf(given, eventKindOf),
  `expected types of events with commas, of ${Object.values(eventTypes).join(', ')}`,
).default(allEventKinds);

export const serviceUrls = formOf(
  (given) =>
    listOf(given, (part) => {
      const url = URL.parse(part);
      return url?.protocol === 'http:' && url.href === `${url.origin}/` ? url : undefined;
    }),
  'expected addresses such as http://127.0.0.1:9090, with commas',
);

export const endpointList = formOf(
  (given): readonly HostPort[] | undefined => listOf(given, readAddressPort),
  'expected addresses such as 10.0.0.5:8000,[fd00::5]:8000, with commas',
);

export const oidcScopes = z
  .string()
  .regex(/(^| )openid( |$)/, 'expected scopes with spaces between them, openid among them');

export const oidcAdmins = z
  .string()
  .default('')
  .transform((given, context) =>
    given.split(',').flatMap((part) => {
      const name = part.trim();
      if (name === '') return [];
      const [, kind, value = ''] = /^(sub|email|group):(.+)$/s.exec(name) ?? [];
      if (kind === 'sub' || kind === 'email' || kind === 'group') return [{ kind, value } as const];
      // An email address cannot be mistaken for a subject or a group, so `email:` may be left out.
      if (name.includes('@') && !name.includes(':')) return [{ kind: 'email', value: name } as const];
      context.addIssue({ code: 'custom', message: `"${name}": expected sub:SUBJECT, email:ADDRESS or group:NAME` });
      return [];
    }),
  );

export const otlpAddressForm = 'expected an address such as http://otel-collector:4318';
export const isHttpUrl = (given: string): boolean => /^https?:$/.test(URL.parse(given)?.protocol ?? '');
/** gRPC also accepts an endpoint without a scheme. */
export const otlpEndpoint = z
  .string()
  .refine((given) => isHttpUrl(given) || /^[\w.-]+:\d+$/.test(given), otlpAddressForm);

export const otlpHeaders = z
  .string()
  .regex(/^\s*[^=,\s]+=[^,]*(,\s*[^=,\s]+=[^,]*)*,?\s*$/, 'expected NAME=VALUE with commas between them');

export const propagators = z
  .string()
  .refine(
    (given) => /(^|,)\s*tracecontext\s*(,|$)/.test(given),
    'expected tracecontext among them: Weir supports no other',
  );

interface Sampler {
  readonly followsCaller: TraceSampling['followsCaller'];
  /** `argument`: OTEL_TRACES_SAMPLER_ARG contains the ratio. */
  readonly ratio: number | 'argument';
}

const samplerNames = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
];

export const traceSampler = choice(samplerNames).transform((name): Sampler => {
  const kind = name.replace('parentbased_', '');
  return {
    followsCaller: name !== kind,
    ratio: kind === 'traceidratio' ? 'argument' : Number(kind === 'always_on'),
  };
});
