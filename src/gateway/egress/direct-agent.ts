import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import type { Cluster } from '../../core/catalog.ts';

/** Returns an agent that calls the endpoints of a backend directly, past Envoy, with the same TLS. Destroy it after use. */
export function createDirectAgent(tls: Cluster['tls'], { timeoutMs }: { readonly timeoutMs: number }): Agent {
  if (tls.mode === 'Disabled') return new Agent({ connect: { timeout: timeoutMs } });
  const { serverName } = tls;
  const connect = buildConnector({
    timeout: timeoutMs,
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    ...(tls.mode === 'Custom' ? { ca: tls.ca } : {}),
    cert: tls.client?.certificate,
    key: tls.client?.key,
  });
  // undici would take the name from the Host header, which may be another. An address is verified, and cannot be sent.
  const servername = isIP(serverName) === 0 ? serverName : '';
  return new Agent({ connect: (options, callback) => connect({ ...options, servername }, callback) });
}

/** The beginning of a body, `maxBytes` at most. The connection of a longer one is closed. */
export async function bytesOf(body: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    if (!Buffer.isBuffer(chunk)) continue;
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** The origin of an endpoint, `address:port`, for a call with that agent. */
export const directOrigin = (tls: Cluster['tls'], endpoint: string): string =>
  `${tls.mode === 'Disabled' ? 'http' : 'https'}://${endpoint}`;
