import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import type { BehaviourInput } from './behaviour.ts';
import { answerChat, type ChatEndpoint, type OpenWire, replyError } from './chat-endpoint.ts';
import { type EngineModelInput, engineModelOf, modelList } from './engine-model.ts';
import { DirectiveError } from './directive.ts';
import { answerEmbeddings } from './embedding-endpoint.ts';
import { errorOfStatus } from './error-reply.ts';
import { identityOf } from './identity.ts';
import { isJsonObject, parsedOr } from './json-value.ts';
import { listen, stopListening } from './listening.ts';
import { createOrders, type Orders } from './orders.ts';
import { createPromptMemory } from './prompt-memory.ts';
import { readRequestBody } from './request-body.ts';
import { createWire } from './wire.ts';
import { answerRerank } from './rerank-endpoint.ts';
import { createRequestJournal, type JournalEntry, type RecordedRequest } from './request-journal.ts';

export interface ProgrammableEngineOptions {
  /** What `on` in a directive and the marks of the engine call it. */
  readonly name?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Loopback unless told. */
  readonly host?: string;
  /** Also listens on this Unix socket; a stale one is removed. */
  readonly unix?: string;
  readonly models?: readonly EngineModelInput[];
  /** What the engine does from the start, and again after `reset`. */
  readonly behaviour?: BehaviourInput;
  /** Takes what the engine and its prompts are told in place of `behaviour`. */
  readonly orders?: Orders;
  /** Answers `/metrics`. Absent: there are none. */
  readonly metrics?: (request: IncomingMessage, response: ServerResponse) => void;
  /** When given, requests without it as their bearer token get 401. */
  readonly apiKey?: string;
}

/** A running programmable engine. */
export interface ProgrammableEngine {
  readonly url: string;
  readonly port: number;
  readonly name: string;
  /** Texts that only this engine puts into its answers, headers and errors: none may get past a gateway. */
  readonly marks: readonly string[];
  /** Requests to a model in the order of their arrival; the newest 20,000. */
  readonly requests: () => readonly RecordedRequest[];
  /** Requests to a model that are being answered. */
  readonly openRequests: () => number;
  /** TCP and Unix connections that are open, idle ones included. */
  readonly openConnections: () => number;
  /** Resolves once the condition holds; rejects if the test is stuck. */
  readonly until: (condition: () => boolean) => Promise<void>;
  /** No pause of an answer ends until the returned function is called. A test that waits for an event in a pause holds it. */
  readonly holdPauses: () => () => void;
  /** What holds from now on, or with `times` for the next so many requests to a model. Throws a DirectiveError. */
  readonly set: (behaviour: BehaviourInput) => void;
  /** Forgets behaviours, recorded requests and prompts seen. Open requests go on. */
  readonly reset: () => void;
  /** Stops listening and destroys every connection. */
  readonly close: () => Promise<void>;
}

/** Starts an engine in this process. Rejects when it cannot listen. */
export async function startProgrammableEngine(options: ProgrammableEngineOptions = {}): Promise<ProgrammableEngine> {
  const name = options.name ?? 'demo';
  const identity = identityOf(name);
  const orders = options.orders ?? createOrders(name, options.behaviour ?? {});
  const memory = createPromptMemory();
  const journal = createRequestJournal();
  const models = (options.models ?? ['demo-chat']).map(engineModelOf);
  const endpoint: ChatEndpoint = { name, identity, models, orders, memory, now: Date.now };
  const reset = (): void => {
    orders.revoke();
    memory.forget();
    journal.clear();
  };

  let held: Promise<void> | undefined;
  const holdPauses = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const bytes = await readRequestBody(request, maxBodyBytes);
    if (bytes === undefined) return;
    const body = bytes.length === 0 ? undefined : parsedOr(bytes.toString());
    const standing = orders.standing();
    const answers = answerersByPath.find(([end]) => path.endsWith(end))?.[1];
    const openWire: OpenWire = (compress) => createWire(response, { compress, held: () => held });
    const plainError = async (status: number): Promise<void> =>
      replyError(openWire, errorOfStatus(status, { engine: name, model: '' }), { behaviour: standing, identity });

    if (path === '/metrics' && options.metrics !== undefined) {
      options.metrics(request, response);
    } else if (path === '/health') {
      sendJson(response, standing.healthStatus ?? 200, undefined);
    } else if (path === '/control' || path === '/control/requests') {
      control(request.method ?? 'GET', path, body, response);
    } else if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`) {
      await plainError(401);
    } else if (request.method === 'GET' && path.endsWith('/models')) {
      if (standing.modelsStatus === undefined) sendJson(response, 200, modelList(models, identity));
      else await plainError(standing.modelsStatus);
    } else if (request.method === 'POST' && answers !== undefined) {
      const { headers } = request;
      const entry = journal.add({ method: 'POST', path: request.url ?? path, headers, bodyBytes: bytes.length, body });
      await recorded(entry, response, async () =>
        isJsonObject(body) ? answers(endpoint, body, openWire) : plainError(400),
      );
    } else {
      await plainError(404);
    }
  };

  const control = (method: string, path: string, body: unknown, response: ServerResponse): void => {
    try {
      if (method === 'POST') orders.give(body ?? {});
      else if (method === 'DELETE') reset();
      if (path === '/control/requests') sendJson(response, 200, journal.requests());
      else {
        const state = {
          behaviour: orders.standing(),
          openRequests: journal.open(),
          requests: journal.requests().length,
        };
        sendJson(response, 200, state);
      }
    } catch (error) {
      if (!(error instanceof DirectiveError)) throw error;
      sendJson(response, 400, { error: { message: error.message, type: 'demo_directive_error' } });
    }
  };

  let connections = 0;
  const createListener = (): Server =>
    // A stalled answer is silent for as long as it was told to be, so the server itself must never lose patience.
    createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 600_000 }, (request, response) => {
      answer(request, response).catch((error: unknown) => {
        response.destroy();
        // A bug here must fail the test that met it, not look like a fault that was asked for.
        queueMicrotask(() => {
          throw error;
        });
      });
    }).on('connection', (socket) => {
      connections += 1;
      socket.once('close', () => {
        connections -= 1;
        journal.changed();
      });
    });

  const listener = createListener();
  const servers = options.unix === undefined ? [listener] : [listener, createListener()];
  try {
    const port = await listen(listener, { host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
    const [, unixListener] = servers;
    if (unixListener !== undefined && options.unix !== undefined) await listen(unixListener, { path: options.unix });
    return {
      port,
      name,
      url: `http://${options.host ?? '127.0.0.1'}:${port}`,
      marks: identity.marks,
      requests: journal.requests,
      openRequests: journal.open,
      openConnections: () => connections,
      until: journal.until,
      holdPauses,
      set: orders.give,
      reset,
      close: async () => stopListening(servers),
    };
  } catch (error) {
    await stopListening(servers);
    throw error;
  }
}

/** What answers the paths that end like this, whatever they begin with. */
const answerersByPath = [
  ['/chat/completions', answerChat],
  ['/embeddings', answerEmbeddings],
  ['/rerank', answerRerank],
] as const;

/** Above any body that a gateway may let through. */
const maxBodyBytes = 256 * 1024 * 1024;

/** Closes the journal's entry when the response does, and says who ended it. */
async function recorded(entry: JournalEntry, response: ServerResponse, work: () => Promise<void>): Promise<void> {
  let over = false;
  const close = (): void => entry.close({ aborted: !over && !response.writableFinished });
  if (response.closed) close();
  else response.once('close', close);
  await work();
  over = true;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = value === undefined ? '' : JSON.stringify(value);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}
