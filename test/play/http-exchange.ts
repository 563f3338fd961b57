import { type Agent, request as startRequest } from 'node:http';
import type { Exchange } from '../../src/core/exchange.ts';

const names = [
  ...(['authorization', 'x-api-key', 'content-type', 'anthropic-version', 'x-request-id', 'x-weir-tags'] as const),
] as const;

/**
 * Sends what a caller of the simulation asks to a gateway over HTTP, and hands the answer on as fast as the caller reads
 * it. `cut` is called if the connection breaks.
 */
export async function sendExchange(
  exchange: Exchange,
  { origin, agent, cut }: { readonly origin: string; readonly agent: Agent; readonly cut: () => void },
): Promise<void> {
  const { head, signal } = exchange;
  const body = await exchange.body(Infinity).catch(() => undefined);
  // The caller has left.
  if (body === undefined) return;
  const headers = Object.fromEntries(
    names.flatMap((name) => {
      const value = head.header(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const request = startRequest(`${origin}${head.path}`, {
    ...{ agent, method: head.method },
    headers: { ...headers, 'x-forwarded-for': head.address, 'content-length': body.length },
  });
  signal.addEventListener('abort', () => request.destroy());
  request.on('error', cut);
  request.once('response', (response) => {
    exchange.start(response.statusCode ?? 0, []);
    response.on('error', () => undefined);
    response.setEncoding('utf8').on('data', (text: string) => {
      if (exchange.write(text)) return;
      response.pause();
      exchange.onDrain(() => response.resume());
    });
    response.once('close', () => {
      if (response.complete) exchange.end('');
      else cut();
    });
  });
  request.end(body);
}
