import { createHash } from 'node:crypto';
import type { Cluster } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { SearchProvider, SearchSetting } from '../../core/web-search.ts';
import type { Upstream } from '../../core/upstream.ts';
import { brave } from './brave.ts';
import { createProvider } from './create-provider.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';
import { readFile, stat } from 'node:fs/promises';

/** A file that holds a secret, read again when it changes. */
export interface KeyFile<T> {
  /** What it holds now. Rejects when there is no such file, or nothing useful in it. */
  readonly read: () => Promise<T>;
}

/**
 * Follows a file by its time, its size and its place on the disk: Kubernetes swaps a mounted Secret by moving a link. One
 * that cannot be read any more keeps what it held: a moment without it, in the middle of a swap, is no reason to fail.
 * `parse` throws what is wrong with the text, without quoting it.
 */
export function keyFile<T>(path: string, parse: (text: string) => T): KeyFile<T> {
  let held: { readonly mark: string; readonly value: T } | undefined;
  return {
    read: async () => {
      try {
        const { mtimeMs, size, ino } = await stat(path);
        const mark = `${mtimeMs} ${size} ${ino}`;
        if (held?.mark !== mark) held = { mark, value: parse(await readFile(path, 'utf8')) };
      } catch (error) {
        if (held === undefined) throw error;
      }
      return held.value;
    },
  };
}

/** Reads the key of a provider's API: one line of visible characters. */
export function readApiKey(text: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(key)) throw new Error('expected one line with the key');
  return key;
}

/** Name under which Envoy's metrics show the provider. No backend is called so: their names have no underscore. */
const statName = 'web_search';

/** Envoy's cluster for a provider: what it needs to reach it. Named by its content, as backends' are. */
function searchCluster(url: URL): Cluster {
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

/** A provider, and the cluster through which Envoy has to reach it. */
export interface OpenSearch {
  readonly provider: SearchProvider;
  readonly cluster: Cluster;
}

/** Opens the provider of a setting. Rejects when its key file cannot be read. */
export async function openSearch(
  setting: SearchSetting,
  options: { readonly upstream: Upstream; readonly clock: Clock },
): Promise<OpenSearch> {
  const api = setting.provider === 'searxng' ? searxng(setting.url) : setting.provider === 'brave' ? brave() : tavily();
  const key = setting.provider === 'searxng' ? undefined : keyFile(setting.keyFile, readApiKey);
  await key?.read().catch((error: unknown) => {
    throw new Error(`WEIR_WEB_SEARCH: the key file: ${messageOf(error)}`);
  });
  const cluster = searchCluster(api.url);
  const readKey = (): Promise<string> => key?.read() ?? Promise.resolve('');
  return { provider: createProvider(api, { ...options, cluster: cluster.name, readKey }), cluster };
}
