import { request } from 'node:http';

/** Envoy's admin interface on its socket: https://www.envoyproxy.io/docs/envoy/v1.40.0/operations/admin */
export interface EnvoyAdmin {
  /** Whether Envoy is up and has its listeners. Never rejects. */
  readonly isLive: () => Promise<boolean>;
  /** Whether Envoy answers at all, be it that it starts or ends. Never rejects. */
  readonly isAnswering: () => Promise<boolean>;
  /** Stops taking connections; those that are open end with their next answer. */
  readonly drain: () => Promise<void>;
  /** Has it say that it is about to end: `/readyz` is 503, and open connections end with their next answer. It goes on serving. */
  readonly announceEnd: () => Promise<void>;
  /** Requests of callers that are not finished. */
  readonly openRequests: () => Promise<number>;
}

const timeoutMs = 5_000;

export function envoyAdmin(socketPath: string): EnvoyAdmin {
  return {
    isLive: async () => {
      try {
        return (await ask(socketPath, 'GET', '/ready')).includes('LIVE');
      } catch {
        return false;
      }
    },
    isAnswering: () =>
      ask(socketPath, 'GET', '/ready').then(
        () => true,
        () => false,
      ),
    drain: async () => {
      // The first call tells open connections to close after their answer, the second closes the door.
      await ask(socketPath, 'POST', '/drain_listeners?graceful&skip_exit');
      await ask(socketPath, 'POST', '/drain_listeners?inboundonly');
    },
    announceEnd: async () => {
      await ask(socketPath, 'POST', '/healthcheck/fail');
    },
    openRequests: async () => {
      const text = await ask(socketPath, 'GET', '/stats?usedonly&filter=^http\\.edge\\.downstream_rq_active$');
      return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
    },
  };
}

function ask(socketPath: string, method: 'GET' | 'POST', path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path, timeout: timeoutMs, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve(body));
    });
    call.on('timeout', () => call.destroy(new Error('Envoy did not answer in time.')));
    call.on('error', reject);
    call.end();
  });
}
