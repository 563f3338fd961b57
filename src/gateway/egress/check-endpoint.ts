import { request } from 'undici';
import type { Cluster } from '../../core/catalog.ts';
import type { HealthCheckAnswer } from '../../core/observed-catalog.ts';
import { createDirectAgent, directOrigin } from './direct-agent.ts';

/** The same limit as in Envoy: no health check takes longer (`src/control/envoy/config/clusters.ts`). */
const timeoutMs = 3_000;

/**
 * Sends the request of a cluster's health check to one endpoint. Like Envoy, it sends no credentials. Envoy reports
 * that a check failed, but not why. So this answer is only shown to operators. Never rejects.
 */
export async function checkEndpoint(
  { healthCheck, tls }: Pick<Cluster, 'healthCheck' | 'tls'>,
  { endpoint, authority }: { /** `address:port`. */ readonly endpoint: string; readonly authority: string },
): Promise<HealthCheckAnswer> {
  const dispatcher = createDirectAgent(tls, { timeoutMs });
  try {
    const { statusCode, body } = await request(`${directOrigin(tls, endpoint)}${healthCheck?.path ?? '/'}`, {
      dispatcher,
      headers: { host: authority, 'user-agent': 'Envoy/HC' },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    // Only the status counts; the body may be long.
    await body.dump({ limit: 16_384 });
    return { status: statusCode };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { problem: problems[code] ?? `no answer${code === '' ? '' : ` (${code})`}` };
  } finally {
    await dispatcher.destroy();
  }
}

const problems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'connection ended without an answer',
  UND_ERR_CONNECT_TIMEOUT: `no connection within ${timeoutMs / 1000} s`,
  UND_ERR_HEADERS_TIMEOUT: `no answer within ${timeoutMs / 1000} s`,
};
