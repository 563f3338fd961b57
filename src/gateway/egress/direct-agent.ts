import { Agent } from 'undici';
import type { Cluster } from '../../core/catalog.ts';

/** Returns an agent that calls the endpoints of a backend directly, past Envoy, with the same TLS. Destroy it after use. */
export function createDirectAgent(tls: Cluster['tls'], { timeoutMs }: { readonly timeoutMs: number }): Agent {
  return new Agent({
    connect: {
      timeout: timeoutMs,
      ...(tls.mode === 'Custom' ? { ca: tls.ca } : {}),
      ...(tls.mode === 'Disabled'
        ? {}
        : { servername: tls.serverName, cert: tls.client?.certificate, key: tls.client?.key }),
    },
  });
}
