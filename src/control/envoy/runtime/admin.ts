import { z } from 'zod';
import { endpointName } from '../../../core/endpoint.ts';

// With `import`, Node loads its `fetch`, too (docs/decisions/0100).
const { Agent, request } = process.getBuiltinModule('node:http');

/** An endpoint that gets no requests: its health check fails, or has no result yet, or connections to it failed. */
export interface EnvoyFailingEndpoint {
  /** `address:port`, as `Endpoint.name`. */
  readonly endpoint: string;
  readonly why: 'health-check' | 'outlier';
}

/** A certificate of the edge. */
interface EdgeCertificate {
  /** The names and addresses that the certificate is for. */
  readonly names: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** Envoy's admin interface on its socket: https://www.envoyproxy.io/docs/envoy/v1.40.0/operations/admin */
export type EnvoyAdmin = ReturnType<typeof createEnvoyAdmin>;

/** Longest wait for an answer. The admin interface is local and answers from memory. */
const timeoutMs = 5_000;

/** Speaks to Envoy's admin interface. Every call rejects when Envoy does not answer, or with another status than 200. */
export function createEnvoyAdmin(options: { readonly adminSocket: string }) {
  // One connection for each user in the service: the cluster publisher, the load shedder, the downstream buffers, the upstream
  // requests and the list of problems each ask one thing at a time.
  const agent = new Agent({ keepAlive: true, maxSockets: 5 });
  const ask = (method: string, path: string): Promise<{ readonly status: number | undefined; readonly body: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath: options.adminSocket, agent, method, path, timeout: timeoutMs }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(pieces).toString() }));
      });
      sent.on('timeout', () => sent.destroy(new Error(`Envoy's admin interface is silent on ${method} ${path}`)));
      sent.on('error', reject);
      sent.end();
    });
  async function call(method: string, path: string): Promise<string> {
    const { status, body } = await ask(method, path);
    if (status !== 200) throw new Error(`Envoy's admin interface answered ${status} to ${method} ${path}`);
    return body;
  }
  async function stats(names: readonly string[]): Promise<ReadonlyMap<string, number | string>> {
    return parseStats(await call('GET', `/stats?filter=${encodeURIComponent(anyOf(names))}`));
  }
  const succeeds = (asked: Promise<unknown>): Promise<boolean> =>
    asked.then(
      () => true,
      () => false,
    );
  return {
    /** Whether Envoy is up and takes requests. False while it does not answer, starts or ends. Never rejects. */
    isReady: (): Promise<boolean> => succeeds(call('GET', '/ready')),
    /** Whether Envoy answers at all, also while it starts or ends. Never rejects. */
    isAnswering: (): Promise<boolean> => succeeds(ask('GET', '/ready')),
    /**
     * Values of the counters and gauges with exactly these names; text values as text. A name that Envoy does not have is not in
     * the map. Rejects when Envoy does not answer.
     */
    stats,
    /** Values of all counters and gauges whose name matches a regular expression, like `stats`. */
    statsLike: async (pattern: string): Promise<ReadonlyMap<string, number | string>> =>
      parseStats(await call('GET', `/stats?filter=${encodeURIComponent(pattern)}`)),
    /**
     * Names of the clusters that Envoy has from the clusters file. Clusters that still wait for their endpoints or their
     * first health check are `warming`: a call to one of them finds no cluster yet.
     */
    clusters: async () => {
      const dump = async (resource: string): Promise<readonly string[]> =>
        clusterNames(await call('GET', `/config_dump?resource=${resource}&mask=cluster.name`));
      // In this order, a cluster that stops warming between the two questions is in both answers. In the other order,
      // it would be in neither.
      const warming = await dump('dynamic_warming_clusters');
      const active = await dump('dynamic_active_clusters');
      return { active, warming: warming.filter((name) => !active.includes(name)) };
    },
    /** The endpoints of these clusters that get no requests, by cluster. Envoy writes half a kilobyte about each endpoint of them. */
    failingEndpoints: async (names: readonly string[]) =>
      failingIn(JSON.parse(await call('GET', `/clusters?format=json&filter=${encodeURIComponent(anyOf(names))}`))),
    /** The certificates that Envoy shows to callers: none without TLS at the edge. */
    ownCertificates: async (): Promise<readonly EdgeCertificate[]> =>
      certificatesIn(JSON.parse(await call('GET', '/certs'))),
    /** Sets values of Envoy's runtime, until it ends. */
    setRuntime: async (values: Readonly<Record<string, number>>): Promise<void> => {
      const query = Object.entries(values).map(([key, value]) => `${encodeURIComponent(key)}=${value}`);
      await call('POST', `/runtime_modify?${query.join('&')}`);
    },
    /**
     * Makes Envoy accept no new connections at the edge, and close the open ones with their next answer. Calls to
     * upstreams go on.
     */
    drain: async (): Promise<void> => {
      // The first call makes open connections close after their next answer. The second call stops listening.
      await call('POST', '/drain_listeners?graceful&skip_exit');
      await call('POST', '/drain_listeners?inboundonly');
    },
    /** Makes Envoy announce its end: `/readyz` is 503, and open connections end with their next answer. Envoy goes on serving. */
    announceEnd: async (): Promise<void> => {
      await call('POST', '/healthcheck/fail');
    },
    /** Requests of callers that are not finished. */
    openRequests: async (): Promise<number> => {
      const name = 'http.edge.downstream_rq_active';
      return Number((await stats([name])).get(name) ?? 0);
    },
    /** Withdraws `announceEnd`; a listener that `drain` has closed stays closed. */
    withdrawEnd: async (): Promise<void> => {
      await call('POST', '/healthcheck/ok');
    },
    close: (): void => agent.destroy(),
  };
}

/** A regular expression for exactly these names. */
function anyOf(names: readonly string[]): string {
  return `^(${names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})$`;
}

/** https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/admin/v3/clusters.proto */
const clusterStatuses = z.object({
  cluster_statuses: z
    .array(
      z.object({
        name: z.string(),
        host_statuses: z
          .array(
            z.object({
              address: z.object({
                socket_address: z.object({ address: z.string(), port_value: z.number() }).optional(),
              }),
              health_status: z.object({
                failed_active_health_check: z.boolean().default(false),
                failed_outlier_check: z.boolean().default(false),
              }),
            }),
          )
          .default([]),
      }),
    )
    .default([]),
});

function failingIn(dump: unknown): ReadonlyMap<string, readonly EnvoyFailingEndpoint[]> {
  return new Map(
    clusterStatuses.parse(dump).cluster_statuses.map(({ name, host_statuses: hosts }) => [
      name,
      hosts.flatMap(({ address: { socket_address: at }, health_status: health }): readonly EnvoyFailingEndpoint[] => {
        const isFailing = health.failed_active_health_check || health.failed_outlier_check;
        if (at === undefined || !isFailing) return [];
        const why = health.failed_active_health_check ? 'health-check' : 'outlier';
        return [{ endpoint: endpointName(at.address, at.port_value), why }];
      }),
    ]),
  );
}

/**
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/admin/v3/certs.proto. `cert_chain` has Envoy's own certificates.
 * The fields that are left out have the certificates that Envoy trusts.
 */
const certificateList = z.object({
  certificates: z
    .array(
      z.object({
        cert_chain: z
          .array(
            z.object({
              subject_alt_names: z
                .array(z.object({ dns: z.string(), uri: z.string(), ip_address: z.string() }).partial())
                .default([]),
              expiration_time: z.iso.datetime(),
            }),
          )
          .default([]),
      }),
    )
    .default([]),
});

function certificatesIn(list: unknown): readonly EdgeCertificate[] {
  return certificateList.parse(list).certificates.flatMap(({ cert_chain: chain }) =>
    chain.map(({ subject_alt_names: names, expiration_time: end }) => ({
      names: names.flatMap(({ dns, uri, ip_address: address }) => dns ?? uri ?? address ?? []),
      expiresAt: Date.parse(end),
    })),
  );
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

/** A regular expression is enough: the dump always has the same form, and the mask selected only the names of clusters. */
function clusterNames(dump: string): readonly string[] {
  return [...dump.matchAll(/"name": ("(?:[^"\\]|\\.)*")/g)].map(([, name = '""']) => String(JSON.parse(name)));
}
