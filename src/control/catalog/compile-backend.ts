import { hash } from 'node:crypto';
import type { Backend, Cluster } from '../../core/catalog.ts';
import type { EndpointSource } from '../../core/endpoint.ts';
import type { SchemaFault } from '../core/schema-faults.ts';
import type { BackendSpec } from './resources/backend.ts';
import type { SecretRef } from './resources/secret.ts';
import { type Secrets, secretValue } from './secrets.ts';

export type CompiledBackend =
  | { readonly ok: true; readonly backend: Backend }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

/** The Secrets that a Backend refers to. */
export function secretsOf({ credentials, tls }: BackendSpec): readonly SecretRef[] {
  return [credentials?.secretRef, tls.caSecretRef].filter((reference) => reference !== undefined);
}

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
  const token = spec.credentials && readToken(spec.credentials.secretRef, secrets);
  const tls = compileTls(spec, secrets);
  const unfollowed = pods === 'refused' ? podFields.filter((field) => spec[field] !== undefined) : [];
  const faults = [
    ...unfollowed.map((field) => noCluster[field]),
    ...[token, tls].flatMap((part) => (part && 'path' in part ? [part] : [])),
  ];
  if (!('mode' in tls) || (token && 'path' in token) || unfollowed.length > 0) return { ok: false, faults };

  const { capacity, healthCheck } = spec;
  const maxConcurrentRequests = capacity?.maxConcurrentRequests;
  const content = {
    backend: name,
    tls,
    healthCheck,
    maxConcurrentRequests,
  };
  // Envoy's statistics split at dots. The readable part is for operators, the digest makes the name unique.
  const cluster: Cluster = {
    name: `${name.replaceAll('.', '_')}-${hash('sha256', JSON.stringify(content)).slice(0, 24)}`,
    endpoints: sourceOf(spec),
    ...content,
  };
  const backend: Backend = {
    name,
    engine: spec.engine,
    cluster,
    path: (spec.endpoint?.path ?? spec.path ?? '/v1').replace(/\/$/, ''),
    authorization: token && `Bearer ${token.text}`,
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

function readToken(reference: SecretRef, secrets: Secrets): { readonly text: string } | SchemaFault {
  const path = ['spec', 'credentials', 'secretRef'];
  const found = secretValue(secrets, reference);
  if (!found.ok) return { path: [...path, found.field], message: found.message };
  // A token made with `echo token | base64` ends in a newline. Any other invisible character would break the header.
  const text = found.value.trim();
  if (/^[\x21-\x7e]{1,8192}$/.test(text)) return { text };
  return {
    path: [...path, 'key'],
    message: `expected 1 to 8192 visible characters in key "${reference.key}" of Secret "${reference.name}"`,
  };
}

function compileTls({ tls, endpoint }: BackendSpec, secrets: Secrets): Cluster['tls'] | SchemaFault {
  const serverName = hostOf(tls.serverName ?? endpoint?.host ?? '');
  if (tls.mode === 'Disabled' || tls.mode === 'Off') return { mode: 'Disabled' };
  if (tls.mode === 'System') return { mode: 'System', serverName };
  const path = ['spec', 'tls', 'caSecretRef'];
  if (tls.caSecretRef === undefined) return { path, message: 'required with tls.mode Custom' };
  const found = secretValue(secrets, tls.caSecretRef);
  if (!found.ok) return { path: [...path, found.field], message: found.message };
  if (/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(found.value)) {
    return { mode: 'Custom', serverName, ca: found.value };
  }
  return {
    path: [...path, 'key'],
    message: `expected PEM certificates in key "${tls.caSecretRef.key}" of Secret "${tls.caSecretRef.name}"`,
  };
}
