/** Address of Valkey: one server, or some servers of a cluster, which report the others. */
export type ValkeyAddress =
  | {
      readonly kind: 'server';
      /** A URL, or the path of a Unix socket. */
      readonly url: string;
    }
  | {
      readonly kind: 'cluster';
      /** User and password of the first URL. They are used for all servers. Empty if the URL has none. */
      readonly login: { readonly username: string; readonly password: string };
      readonly isEncrypted: boolean;
      readonly servers: readonly { readonly host: string; readonly port: number }[];
    };

export const valkeyAddressForms =
  'expected redis://, rediss://, valkey:// or valkeys://, or the path of a Unix socket; of a cluster several such URLs with commas between them, or one that ends in ?cluster';

const usualPort = 6379;

/** Reads the value of `WEIR_VALKEY_URL`; undefined when it has none of the forms in `valkeyAddressForms`. */
export function readValkeyAddress(text: string): ValkeyAddress | undefined {
  if (text.startsWith('/')) return { kind: 'server', url: text };
  const parts = text.split(',').map((part) => part.trim());
  const urls = parts.flatMap((part) => (/^(redis|valkey)s?:\/\/[^/]/.test(part) ? (URL.parse(part) ?? []) : []));
  const [first] = urls;
  if (first === undefined || urls.length < parts.length) return undefined;
  if (urls.length === 1 && !first.searchParams.has('cluster')) return { kind: 'server', url: text };
  // A cluster has one database, 0.
  if (urls.some(({ pathname, protocol }) => !['', '/', '/0'].includes(pathname) || protocol !== first.protocol))
    return undefined;
  return {
    kind: 'cluster',
    login: { username: decodeURIComponent(first.username), password: decodeURIComponent(first.password) },
    isEncrypted: ['rediss:', 'valkeys:'].includes(first.protocol),
    servers: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? usualPort : Number(port),
    })),
  };
}
