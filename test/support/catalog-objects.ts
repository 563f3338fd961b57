import type { CatalogObject } from '../../src/core/catalog.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Objects that compile without a problem, to change one thing in. */
export const goodBackendSpec = { engine: 'vllm', endpoint: { host: 'vllm-a.models.svc', port: 8000, path: '/v1' } };

export const goodModelSpec = {
  id: 'qwen/qwen3-8b',
  ownedBy: 'qwen',
  added: '2026-06-01T00:00:00Z',
  contextLength: 131_072,
  pricing: { prompt: '0.00000015', completion: '0.0000006', inputCacheRead: '0.00000003' },
  routes: [{ backend: 'vllm-a', upstreamModel: 'Qwen/Qwen3-8B' }],
};

export function backend(name: string, spec: Fields = {}): CatalogObject {
  return weirObject('Backend', name, { ...goodBackendSpec, ...spec });
}

export function model(name: string, spec: Fields = {}): CatalogObject {
  return weirObject('Model', name, { ...goodModelSpec, ...spec });
}

export function secret(name: string, values: Fields): CatalogObject {
  const value = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...values };
  return { where: `Secret/${name}`, value };
}

export function configMap(name: string, data: Readonly<Record<string, string>>): CatalogObject {
  return { where: `ConfigMap/${name}`, value: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data } };
}

function weirObject(kind: string, name: string, spec: Fields): CatalogObject {
  const value = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name }, spec };
  return { where: `${kind}/${name}`, value };
}
