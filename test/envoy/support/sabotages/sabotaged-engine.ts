import { once } from 'node:events';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { engineCertificates } from './engine-certificates.ts';

/** What an engine does with a connection. `refuses`: nothing listens on its port. */
export type Conduct = ((socket: Socket) => void) | 'refuses';

/** An engine on one port that can be broken in any way, also below HTTP, and mended. */
export interface SabotagedEngine {
  readonly port: number;
  /** Ends every connection, and treats the next ones in this way. */
  readonly turn: (conduct: Conduct) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startSabotagedEngine(first: Conduct): Promise<SabotagedEngine> {
  let conduct = first;
  const sockets = new Set<Socket>();
  let server = createServer();
  const listen = async (port: number): Promise<void> => {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
      if (conduct !== 'refuses') conduct(socket);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    turn: async (next) => {
      await stop();
      conduct = next;
      if (next !== 'refuses') await listen(port);
    },
    close: stop,
  };
}

/** Speaks HTTP, or with options TLS. */
export function speak(reply: RequestListener, tls?: ServerOptions): Conduct {
  const listener: RequestListener = (request, response) => {
    response.on('error', () => undefined);
    // The body is read first: an engine that answers before would break off the request.
    request.resume().once('end', () => reply(request, response));
  };
  const server = tls === undefined ? createHttp(listener) : createHttps(tls, listener);
  // What is no HTTP is answered as real servers do, in HTTP.
  server.on('clientError', (_, socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  server.on('tlsClientError', () => undefined);
  return (socket) => void server.emit('connection', socket);
}

const { key, good } = engineCertificates;
/** The TLS of an engine that is well. */
export const goodTls: ServerOptions = { key, cert: good };

const models = { object: 'list', data: [{ id: 'demo-chat', object: 'model', max_model_len: 131_072 }] };
const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const chunk = (parts: object): string => `data: ${JSON.stringify({ id: 'x', choices: [], ...parts })}\n\n`;
const delta = (content: string): string => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

/** The beginning of a streamed answer. */
export const beginning = delta('one') + delta(' two');

/** A whole streamed answer, but for its usage. */
export const answer = `${beginning}${delta(' three')}${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}`;

/** An engine that is well: it lists its model, and streams three words. */
export const well: RequestListener = (request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(models));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${answer}${chunk({ usage })}data: [DONE]\n\n`);
};

/** As an engine that is well, but for its answers to requests. */
export const answering =
  (reply: RequestListener): RequestListener =>
  (request, response) =>
    (request.method === 'GET' ? well : reply)(request, response);

/** An error in the format of OpenAI. */
export const failing =
  (status: number, error: Readonly<Record<string, unknown>> | string): RequestListener =>
  (_, response) => {
    const isText = typeof error === 'string';
    response
      .writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json' })
      .end(isText ? error : JSON.stringify({ error }));
  };
