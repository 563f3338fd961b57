import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that has arrived whole, and the response to it. */
export interface EngineCall {
  readonly request: IncomingMessage;
  readonly body: string;
  readonly response: ServerResponse;
}

export interface FakeEngine {
  readonly port: number;
  readonly url: string;
  /** How many requests for an answer have arrived whole. */
  readonly asked: () => number;
  /** Cuts all connections. */
  readonly close: () => Promise<void>;
}

/**
 * A server on the loopback that a test programs with a function: for answers that no engine should give, so that the
 * programmable engine (test/programmable-engine) has no directive for them. The list of models is empty: `weir start` asks each engine for it. A
 * caller may leave at any time.
 */
export async function startFakeEngine(reply: (call: EngineCall) => void): Promise<FakeEngine> {
  let asked = 0;
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    if (request.url?.endsWith('/models')) return void response.end('{"object":"list","data":[]}');
    text(request).then(
      (body) => {
        asked += 1;
        reply({ request, body, response });
      },
      () => undefined,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
