import { type Agent, request } from 'undici';
import { withTimeout } from '../../core/call-service.ts';
import type { Cluster } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { Headers } from '../../core/headers.ts';
import { bytesOf, createDirectAgent, directOrigin } from './direct-agent.ts';

export interface MetricsTarget {
  readonly cluster: Pick<Cluster, 'name' | 'tls'>;
  /** `address:port`. */
  readonly endpoint: string;
  readonly authority: string;
  readonly path: string;
  readonly headers: Headers | undefined;
}

/** `absent`: the engine has answered, and has no metrics. `failed`: it has not answered, or not in time. */
export type MetricsAnswer =
  | { readonly kind: 'metrics'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed' };

export type MetricsReader = ReturnType<typeof createMetricsReader>;

/** A slower answer is out of date. */
const timeoutMs = 1000;
/** Most bytes of metrics. vLLM has about 100 KB for each of its engines. */
const maxBytes = 1_048_576;

/**
 * Reads the metrics of engines past Envoy, like `checkEndpoint`: Envoy would count each reading as a request to the backend, and as one of
 * the requests that the backend may have at a time. A redirect is not followed, so that the credentials stay at the endpoint.
 */
export function createMetricsReader(clock: Pick<Clock, 'after'>) {
  const agents = new Map<string, Agent>();

  function agentOf({ name, tls }: MetricsTarget['cluster']): Agent {
    const agent = agents.get(name) ?? createDirectAgent(tls, { timeoutMs });
    agents.set(name, agent);
    return agent;
  }

  function forget(name: string): void {
    void agents.get(name)?.destroy();
    agents.delete(name);
  }

  return {
    /** Never rejects. */
    read: ({ cluster, endpoint, authority, path, headers = [] }: MetricsTarget): Promise<MetricsAnswer> =>
      withTimeout({ clock, timeoutMs }, async (signal): Promise<MetricsAnswer> => {
        const { statusCode, body } = await request(`${directOrigin(cluster.tls, endpoint)}${path}`, {
          dispatcher: agentOf(cluster),
          headers: { 'user-agent': 'weir', ...Object.fromEntries(headers), host: authority },
          signal,
        });
        if (statusCode !== 200) {
          await body.dump({ limit: 16_384, signal });
          return { kind: 'absent' };
        }
        const bytes = await bytesOf(body, maxBytes + 1);
        if (bytes.length > maxBytes) return { kind: 'absent' };
        return { kind: 'metrics', text: bytes.toString('latin1') };
      }).catch(() => ({ kind: 'failed' })),
    /** Closes the connections to the other clusters. */
    retain: (clusters: ReadonlySet<string>): void => {
      for (const name of agents.keys()) if (!clusters.has(name)) forget(name);
    },
    close: (): void => {
      for (const name of agents.keys()) forget(name);
    },
  };
}
