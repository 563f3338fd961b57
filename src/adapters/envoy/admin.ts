import { Agent, request } from 'node:http';

export interface EnvoyAdmin {
  /** Whether Envoy is up and takes requests. False when it is away, starting or draining. */
  readonly ready: () => Promise<boolean>;
  /**
   * Values of the counters and gauges with exactly these names; text values as text. One that Envoy does not have is not
   * in the map. Rejects when Envoy is away.
   */
  readonly stats: (names: readonly string[]) => Promise<ReadonlyMap<string, number | string>>;
  /** The same of all whose name matches a regular expression. */
  readonly statsLike: (pattern: string) => Promise<ReadonlyMap<string, number | string>>;
  /**
   * Names of the clusters Envoy has from the clusters file. Those that still wait for their first address or their first
   * health check are `warming`: a call to one of them finds no cluster yet.
   */
  readonly clusters: () => Promise<{ readonly active: readonly string[]; readonly warming: readonly string[] }>;
  /** Sets values of Envoy's runtime, until it ends. */
  readonly setRuntime: (values: Readonly<Record<string, number>>) => Promise<void>;
  /** Takes no new connections at the edge, and asks the open ones to end with their next answer. Calls upstream go on. */
  readonly drain: () => Promise<void>;
  /** Takes back what `drain`, or `weir envoy drain`, said of its coming end; a closed listener stays closed. */
  readonly resume: () => Promise<void>;
  readonly close: () => void;
}

/** Envoy's admin interface is local and answers from memory: what takes longer than this is not coming. */
const timeoutMs = 5_000;

/** Speaks to Envoy's admin interface. Every call rejects when Envoy is away or answers anything but 200. */
export function createEnvoyAdmin(options: { readonly adminSocket: string }): EnvoyAdmin {
  // One for each that shares it in the service: the clusters file, the valve, the buffers and the requests upstream ask one
  // thing at a time.
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const call = (method: string, path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath: options.adminSocket, agent, method, path, timeout: timeoutMs }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(pieces).toString();
          if (response.statusCode === 200) resolve(body);
          else reject(new Error(`Envoy's admin interface answered ${response.statusCode} to ${method} ${path}`));
        });
      });
      sent.on('timeout', () => sent.destroy(new Error(`Envoy's admin interface is silent on ${method} ${path}`)));
      sent.on('error', reject);
      sent.end();
    });
  return {
    ready: () =>
      call('GET', '/ready').then(
        () => true,
        () => false,
      ),
    stats: async (names) => {
      const filter = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
      return parseStats(await call('GET', `/stats?filter=${encodeURIComponent(`^(${filter})$`)}`));
    },
    statsLike: async (pattern) => parseStats(await call('GET', `/stats?filter=${encodeURIComponent(pattern)}`)),
    clusters: async () => {
      const dump = async (resource: string): Promise<readonly string[]> =>
        clusterNames(await call('GET', `/config_dump?resource=${resource}&mask=cluster.name`));
      // In this order: a cluster that stops warming between the two is then in both, and not in neither.
      const warming = await dump('dynamic_warming_clusters');
      const active = await dump('dynamic_active_clusters');
      return { active, warming: warming.filter((name) => !active.includes(name)) };
    },
    setRuntime: async (values) => {
      const query = Object.entries(values).map(([key, value]) => `${encodeURIComponent(key)}=${value}`);
      await call('POST', `/runtime_modify?${query.join('&')}`);
    },
    drain: async () => {
      await call('POST', '/healthcheck/fail');
      await call('POST', '/drain_listeners?inboundonly');
    },
    resume: async () => {
      await call('POST', '/healthcheck/ok');
    },
    close: () => agent.destroy(),
  };
}

/** Lines such as `a.b: 3` and `a.version_text: "x"`. */
function parseStats(text: string): ReadonlyMap<string, number | string> {
  const stats = new Map<string, number | string>();
  for (const line of text.split('\n')) {
    const colon = line.lastIndexOf(': ');
    if (colon === -1) continue;
    const value = line.slice(colon + 2);
    stats.set(line.slice(0, colon), value.startsWith('"') ? value.slice(1, -1) : Number(value));
  }
  return stats;
}

/** The dump is Envoy's own and regular; names are the only strings under that key, which the mask asked for. */
function clusterNames(dump: string): readonly string[] {
  return [...dump.matchAll(/"name": ("(?:[^"\\]|\\.)*")/g)].map(([, name = '""']) => String(JSON.parse(name)));
}
