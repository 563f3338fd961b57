import { hash } from 'node:crypto';
import type { Cluster } from '../../../core/catalog.ts';
import type { Clock } from '../../../core/clock.ts';
import type { DependencyReport } from '../../../core/dependency-cause.ts';
import { messageOf } from '../../../core/failure.ts';
import type { Upstream } from '../../core/upstream.ts';
import type { KeyedProvider, SearchProvider, SearchSetting } from '../../../core/web-search.ts';
import { maxSecretBytes, readBoundedFile } from '../../../process/bounded-file.ts';
import { brave } from './brave.ts';
import { createProvider } from './create-provider.ts';
import type { SearchApi } from './search-api.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';

const keyedApis: Readonly<Record<KeyedProvider, () => SearchApi>> = { brave, tavily };

/** Opens the provider of a setting, and names the cluster through which Envoy reaches it. Rejects when its key file cannot be read. */
export async function openSearch(
  setting: SearchSetting,
  options: {
    readonly upstream: Upstream;
    readonly clock: Clock;
    readonly report?: DependencyReport | undefined;
  },
): Promise<{ readonly provider: SearchProvider; readonly cluster: Cluster }> {
  const api = setting.provider === 'searxng' ? searxng(setting.url) : keyedApis[setting.provider]();
  const readKey = setting.provider === 'searxng' ? () => Promise.resolve('') : followKeyFile(setting.keyFile);
  await readKey().catch((error: unknown) => {
    throw new Error(`WEIR_WEB_SEARCH: the key file: ${messageOf(error)}`);
  });
  const cluster = searchCluster(api.url);
  return { provider: createProvider(api, { ...options, cluster: cluster.name, readKey }), cluster };
}

/** The provider's name in Envoy's metrics. No backend can have this name, because names of backends have no underscore. */
const statName = 'web_search';

/** Envoy's cluster of a provider, named by its content like the clusters of backends. */
function searchCluster(url: URL): Cluster {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isPlain = url.protocol === 'http:';
  const content = {
    backend: statName,
    endpointsUnnamed: true as const,
    endpoints: {
      kind: 'hosts',
      hosts: [{ host, port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port) }],
    } as const,
    tls: isPlain ? ({ mode: 'Disabled' } as const) : ({ mode: 'System', serverName: host } as const),
  };
  const digest = hash('sha256', JSON.stringify(content)).slice(0, 24);
  return { name: `${statName}-${digest}`, ...content };
}

/**
 * Returns a function that reads a key file: anew for each search, because Kubernetes replaces a mounted Secret at any time. While the
 * file cannot be read, as during such a replacement, the function returns the last key. It rejects when there has been none.
 */
export function followKeyFile(path: string): () => Promise<string> {
  let last: string | undefined;
  return async () => {
    try {
      last = readKey(String(await readBoundedFile(path, maxSecretBytes)));
    } catch (error) {
      if (last === undefined) throw error;
    }
    return last;
  };
}

/** Reads a key: one line of visible characters. The error does not quote the file. */
function readKey(text: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(key)) throw new Error('expected one line with the key');
  return key;
}
