import { once } from 'node:events';
import { Agent, request as startRequest } from 'node:http';
import { connect, constants, type ClientHttp2Session, type SecureClientSessionOptions } from 'node:http2';
import type { Weir } from '../../support/weir.ts';

/** An answer while it comes in. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** What has come so far. */
  readonly text: () => string;
  /** Resolves once the text holds this, or is as asked; rejects when the answer ends without it. */
  readonly until: (part: string | ((text: string) => boolean)) => Promise<void>;
  /** `clean` when it ended as HTTP says, `cut` when the connection or the stream broke. */
  readonly ended: Promise<'clean' | 'cut'>;
}

/** A request of a caller who may leave at any moment. */
export interface OpenRequest {
  /** Resolves with the head of the answer; rejects when there is none. */
  readonly answer: Promise<OpenAnswer>;
  /** Sends more of the body; only with `more`. */
  readonly send: (text: string) => void;
  /** Breaks the connection (HTTP/1.1) or resets the stream (HTTP/2). */
  readonly leave: () => void;
}

export interface CallOptions {
  /** Default: `/v1/chat/completions`. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body goes on after this part. */
  readonly more?: true;
}

const chatPath = '/v1/chat/completions';

/** Someone who talks to the gateway without a client library between. */
export interface Caller {
  readonly open: (body: object | string, options?: CallOptions) => OpenRequest;
  /** Sends a request and reads its answer to the end. */
  readonly ask: (body: object, options?: CallOptions) => Promise<OpenAnswer>;
  /** Resolves when no connection is left. */
  readonly close: () => Promise<void>;
}

type Gateway = Pick<Weir, 'origin' | 'key' | 'watch'>;

interface Inbox {
  readonly answer: OpenAnswer;
  readonly take: (piece: Buffer) => void;
  readonly over: (how: 'clean' | 'cut') => void;
}

function createInbox(weir: Gateway, head: Pick<OpenAnswer, 'status' | 'headers'>): Inbox {
  // One character per byte, so that a piece may end anywhere; decoded when somebody reads.
  let bytes = '';
  let isOver = false;
  const looks = new Set<() => void>();
  const { promise: ended, resolve } = Promise.withResolvers<'clean' | 'cut'>();
  const text = (): string => Buffer.from(bytes, 'latin1').toString();
  weir.watch(() => `${JSON.stringify(head.headers)}\n${text()}`);
  return {
    answer: {
      ...head,
      ended,
      text,
      until: (part) =>
        new Promise((found, reject) => {
          const isFound = typeof part === 'string' ? (): boolean => text().includes(part) : () => part(text());
          const look = (): void => {
            if (isFound()) found();
            else if (isOver) reject(new Error(`it ended without ${String(part)}: ${text()}`));
            else return;
            looks.delete(look);
          };
          looks.add(look);
          look();
        }),
    },
    take: (piece) => {
      bytes += piece.toString('latin1');
      for (const look of looks) look();
    },
    over: (how) => {
      isOver = true;
      for (const look of looks) look();
      resolve(how);
    },
  };
}

const headersOf = (weir: Gateway, options: CallOptions): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${weir.key}`,
  'content-type': 'application/json',
  ...options.headers,
});

const bytesOf = (body: object | string): string => (typeof body === 'string' ? body : JSON.stringify(body));

function withAsk(caller: Omit<Caller, 'ask'>): Caller {
  return {
    ...caller,
    ask: async (body, options) => {
      const answer = await caller.open(body, options).answer;
      await answer.ended;
      return answer;
    },
  };
}

/** A caller with a connection of its own for each request. */
export function http1Caller(weir: Gateway): Caller {
  const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
  const open = (body: object | string, options: CallOptions = {}): OpenRequest => {
    const request = startRequest(`${weir.origin}${options.path ?? chatPath}`, {
      ...{ agent, method: 'POST', headers: headersOf(weir, options) },
    });
    const answer = new Promise<OpenAnswer>((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response) => {
        const inbox = createInbox(weir, { status: response.statusCode ?? 0, headers: response.headers });
        request.on('error', () => undefined);
        response.on('error', () => undefined);
        response.on('data', inbox.take);
        response.once('close', () => inbox.over(response.complete ? 'clean' : 'cut'));
        resolve(inbox.answer);
      });
    });
    answer.catch(() => undefined);
    if (options.more === true) request.write(bytesOf(body));
    else request.end(bytesOf(body));
    return { answer, send: (text) => void request.write(text), leave: () => void request.destroy() };
  };
  return withAsk({ open, close: async () => agent.destroy() });
}

/** A caller with one HTTP/2 connection for all requests: prior knowledge, or TLS where the origin says https. */
export function http2Caller(weir: Gateway, options: SecureClientSessionOptions = {}): Caller {
  const session: ClientHttp2Session = connect(weir.origin, options);
  session.on('error', () => undefined);
  const open = (body: object | string, call: CallOptions = {}): OpenRequest => {
    const left = new AbortController();
    const stream = session.request(
      { ':method': 'POST', ':path': call.path ?? chatPath, ...headersOf(weir, call) },
      // Aborting resets the stream; closing it would end the body first.
      { signal: left.signal },
    );
    const answer = new Promise<OpenAnswer>((resolve, reject) => {
      stream.on('error', reject);
      stream.once('close', () => reject(new Error('the stream ended without an answer')));
      stream.once('response', (headers) => {
        const inbox = createInbox(weir, { status: Number(headers[':status']), headers });
        let complete = false;
        stream.on('data', inbox.take);
        stream.once('end', () => {
          complete = true;
        });
        stream.once('close', () =>
          inbox.over(complete && stream.rstCode === constants.NGHTTP2_NO_ERROR ? 'clean' : 'cut'),
        );
        resolve(inbox.answer);
      });
    });
    answer.catch(() => undefined);
    if (call.more === true) stream.write(bytesOf(body));
    else stream.end(bytesOf(body));
    return {
      answer,
      send: (text) => void stream.write(text),
      leave: () => left.abort(),
    };
  };
  return withAsk({
    open,
    close: async () => {
      if (session.closed || session.destroyed) return;
      const closed = once(session, 'close');
      session.close();
      await closed;
    },
  });
}
