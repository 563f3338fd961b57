import { hash } from 'node:crypto';
import type { Cluster, Model } from '../core/catalog.ts';
import { createRemembered } from './remember.ts';

const digestOnce = createRemembered<Model, string>();

/** Changes whenever anything changes that a request or Envoy could notice, credentials included. */
export function versionOf(models: ReadonlyMap<string, Model>, clusters: readonly Cluster[]): string {
  const parts = [...models.values()].map((model) =>
    digestOnce(model, [], () => hash('sha256', textOf(model)).slice(0, 32)),
  );
  // A cluster's name is a digest of its content.
  return hash('sha256', [...parts, ...clusters.map(({ name }) => name)].join('\n')).slice(0, 32);
}

function textOf(model: Model): string {
  return JSON.stringify(model, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}
