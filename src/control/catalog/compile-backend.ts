import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import type { Backend, Cluster, RequestValues } from '../../core/catalog.ts';
import type { EndpointSource } from '../../core/endpoint.ts';
import type { Headers } from '../../core/headers.ts';
import type { SchemaFault } from '../core/schema-faults.ts';
import { withoutAbsent } from './compile-model.ts';
import type { BackendSpec } from './resources/backend.ts';
import { keyPairKeys, type ValueRef } from './resources/secret.ts';
import { type Secrets, secretValue } from './secrets.ts';

export type CompiledBackend =
  | { readonly ok: true; readonly backend: Backend }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

/** Whether the Services and InferencePools that Backends name can be followed. `refused`: there is no cluster that has them. */
export type PodSupport = 'followed' | 'refused';

interface BackendSurroundings {
  readonly secrets: Secrets;
  readonly pods: PodSupport;
}

/** Compiles a Backend that passed its schema. Fails when something that it refers to is missing or unusable. */
export function compileBackend(
  name: string,
  spec: BackendSpec,
  { secrets, pods }: BackendSurroundings,
): CompiledBackend {
  const faults: SchemaFault[] = [];
  const report = (fault: SchemaFault): undefined => void faults.push(fault);
  const values = { secrets, report };
  for (const field of podFields) if (pods === 'refused' && spec[field] !== undefined) report(noCluster[field]);
  const headers = compileHeaders(spec, values);
  const query = spec.query?.map(
    (one, index) => `${one.name}=${encodeURIComponent(valueOf(one, ['query', index], values))}`,
  );
  const tls = compileTls(spec, values);
  const proxy = spec.proxy && compileProxy(spec.proxy, values);
  if (tls === undefined || faults.length > 0) return { ok: false, faults };

  const { capacity, healthCheck } = spec;
  const maxConcurrentRequests = capacity?.maxConcurrentRequests;
  const content = {
    backend: name,
    tls,
    host: spec.host?.toLowerCase(),
    proxy,
    healthCheck,
    maxConcurrentRequests,
  };
  const endpoints = sourceOf(spec);
  // Behind a proxy the endpoints are a part of the cluster.
  const digest = hash('sha256', JSON.stringify(proxy === undefined ? content : { ...content, endpoints }));
  // Envoy's statistics split at dots. The readable part is for operators, the digest makes the name unique.
  const cluster: Cluster = { name: `${name.replaceAll('.', '_')}-${digest.slice(0, 24)}`, endpoints, ...content };
  const backend: Backend = {
    name,
    engine: spec.engine,
    cluster,
    path: (spec.endpoint?.path ?? spec.path ?? '/v1').replace(/\/$/, ''),
    headers,
    query: query && `?${query.join('&')}`,
    defaults: spec.requests?.defaults && compileValues(spec.requests.defaults),
    bounds: spec.requests?.bounds && compileValues(spec.requests.bounds),
    timeouts: spec.timeouts && {
      firstOutputMs: milliseconds(spec.timeouts.firstOutputSeconds),
      idleMs: milliseconds(spec.timeouts.idleSeconds),
    },
    maxConcurrentRequests,
    maxConcurrentRequestsPerEndpoint: capacity?.maxConcurrentRequestsPerEndpoint,
  };
  return { ok: true, backend };
}

/** A host in the form for Host headers and SNI: in lowercase, without the final dot of an absolute name. */
function hostOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** The fields that name pods of a cluster. */
export const podFields = ['service', 'inferencePool'] as const;

const noCluster: Readonly<Record<(typeof podFields)[number], SchemaFault>> = {
  service: {
    path: ['spec', 'service'],
    message:
      'expected endpoint or endpoints: a Service is followed only where the catalog is read from Kubernetes; ' +
      'from elsewhere it may have a name, such as "vllm-a.models.svc" for endpoint.host',
  },
  inferencePool: {
    path: ['spec', 'inferencePool'],
    message:
      'expected endpoint or endpoints: an InferencePool is followed only where the catalog is read from Kubernetes; ' +
      'from elsewhere write the addresses of its pods, or the name of a headless Service that selects them, in endpoints',
  },
};

/** The source of the endpoints. The schema has made sure that exactly one of the four fields is set. */
function sourceOf({ endpoint, endpoints = [], service, inferencePool }: BackendSpec): EndpointSource {
  if (inferencePool !== undefined) return { kind: 'inference-pool', pool: inferencePool.name };
  if (service !== undefined) return { kind: 'service', service: service.name, port: service.port };
  const hosts = endpoint === undefined ? endpoints : [endpoint];
  return { kind: 'hosts', hosts: hosts.map(({ host, port }) => ({ host: hostOf(host), port })) };
}

type ValuesSpec = NonNullable<NonNullable<BackendSpec['requests']>['defaults']>;

const compileValues = ({ max_tokens, reasoning_effort: effort, ...sampling }: ValuesSpec): RequestValues => ({
  sampling: withoutAbsent(sampling),
  maxOutputTokens: max_tokens,
  reasoning: effort && (effort === 'none' ? { enabled: false } : { enabled: true, effort }),
});

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000;

interface Values {
  readonly secrets: Secrets;
  readonly report: (fault: SchemaFault) => undefined;
}

/** The credential, then the further headers. Undefined: there are none. */
function compileHeaders({ credentials, headers = [] }: BackendSpec, values: Values): Headers | undefined {
  const own: [string, string][] = headers.map((one, index) => [
    one.name.toLowerCase(),
    valueOf(one, ['headers', index], values),
  ]);
  if (credentials === undefined) return own.length === 0 ? undefined : own;
  const { secretRef, header = 'authorization' } = credentials;
  const name = header.toLowerCase();
  const { scheme = name === 'authorization' ? 'Bearer' : 'None' } = credentials;
  const path = ['credentials', 'secretRef'];
  const reference: ValueRef = { kind: 'Secret', ...secretRef };
  if (scheme === 'Basic') return [[name, basic(reference, path, values)], ...own];
  const token = readText(reference, path, values) ?? '';
  return [[name, scheme === 'None' ? token : `${scheme} ${token}`], ...own];
}

/** The value of a header or a part of the query. Empty when it is a fault, which is reported. */
function valueOf(
  {
    value,
    secretRef,
  }: { readonly value?: string | undefined; readonly secretRef?: Omit<ValueRef, 'kind'> | undefined },
  path: readonly PropertyKey[],
  values: Values,
): string {
  if (secretRef === undefined) return value ?? '';
  return readText({ kind: 'Secret', ...secretRef }, [...path, 'secretRef'], values) ?? '';
}

/** A value that a header can carry. Undefined: a fault was reported. `path` is below `spec`. */
function readText(reference: ValueRef, path: readonly PropertyKey[], values: Values): string | undefined {
  // A token made with `echo token | base64` ends in a newline. Any other invisible character would break the header.
  const text = readReference(reference, path, values)?.trim();
  if (text === undefined || /^[\x21-\x7e]{1,8192}$/.test(text)) return text;
  return values.report(wrongValue(reference, path, '1 to 8192 visible characters'));
}

function readReference(
  reference: ValueRef,
  path: readonly PropertyKey[],
  { secrets, report }: Values,
): string | undefined {
  const found = secretValue(secrets, reference);
  return found.ok ? found.value : report({ path: ['spec', ...path, found.field], message: found.message });
}

const wrongValue = ({ kind, name, key }: ValueRef, path: readonly PropertyKey[], expected: string): SchemaFault => ({
  path: ['spec', ...path, 'key'],
  message: `expected ${expected} in key "${key}" of ${kind} "${name}"`,
});

function compileProxy(
  { host, port, credentials }: NonNullable<BackendSpec['proxy']>,
  values: Values,
): Cluster['proxy'] {
  const path = ['proxy', 'credentials', 'secretRef'];
  const authorization = credentials && basic({ kind: 'Secret', ...credentials.secretRef }, path, values);
  return { host: hostOf(host), port, authorization };
}

/** The value of a header with user and password. Useless if they are at fault, which is reported. */
function basic(reference: ValueRef, path: readonly PropertyKey[], values: Values): string {
  const text = readText(reference, path, values);
  if (text?.includes(':') === false) values.report(wrongValue(reference, path, 'user:password'));
  return `Basic ${Buffer.from(text ?? '').toString('base64')}`;
}

/** Undefined: a fault was reported. */
function compileTls({ tls, endpoint }: BackendSpec, values: Values): Cluster['tls'] | undefined {
  if (tls.mode === 'Disabled' || tls.mode === 'Off') return { mode: 'Disabled' };
  const serverName = hostOf(tls.serverName ?? endpoint?.host ?? '');
  const client = tls.clientCertificateSecretRef && readKeyPair(tls.clientCertificateSecretRef.name, values);
  if (tls.mode === 'System') return { mode: 'System', serverName, client };
  const [field, reference]: [string, ValueRef] =
    tls.caConfigMapRef === undefined
      ? ['caSecretRef', { kind: 'Secret', name: '', key: '', ...tls.caSecretRef }]
      : ['caConfigMapRef', { kind: 'ConfigMap', ...tls.caConfigMapRef }];
  const path = ['tls', field];
  const ca = readReference(reference, path, values);
  if (ca === undefined) return undefined;
  if (/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(ca)) {
    return { mode: 'Custom', serverName, ca, client };
  }
  return values.report(wrongValue(reference, path, 'PEM certificates'));
}

/** The certificate that is shown to an engine, with its key. Undefined: a fault was reported. */
function readKeyPair(name: string, values: Values): { readonly certificate: string; readonly key: string } | undefined {
  const fault = (message: string): undefined =>
    values.report({ path: ['spec', 'tls', 'clientCertificateSecretRef', 'name'], message });
  const read = (key: string) => secretValue(values.secrets, { kind: 'Secret', name, key });
  const [certificate, key] = [read(keyPairKeys.certificate), read(keyPairKeys.key)];
  if (!certificate.ok) return fault(certificate.message);
  if (!key.ok) return fault(key.message);
  try {
    const isPair = new X509Certificate(certificate.value).checkPrivateKey(createPrivateKey(key.value));
    if (isPair) return { certificate: certificate.value, key: key.value };
  } catch {
    // The error could quote the key.
  }
  return fault(`expected a PEM certificate and its key in "tls.crt" and "tls.key" of Secret "${name}"`);
}
