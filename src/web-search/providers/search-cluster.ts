import { createHash } from 'node:crypto';
import type { Cluster } from '../../core/catalog.ts';

/** Name under which Envoy's metrics show the provider. No backend is called so: their names have no underscore. */
const statName = 'web_search';

/** Envoy's cluster for a provider: what it needs to reach it. Named by its content, as backends' are. */
export function searchCluster(url: URL): Cluster {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isPlain = url.protocol === 'http:';
  const content = {
    backend: statName,
    host,
    port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port),
    tls: isPlain ? ({ mode: 'Disabled' } as const) : ({ mode: 'System', serverName: host } as const),
  };
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 24);
  return { name: `${statName}-${digest}`, ...content };
}
