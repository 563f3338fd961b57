import { Client, type Dispatcher } from 'undici';
import type { ChatRequest } from './chat-request.ts';
import { nextSeed, openBodies } from './prompts.ts';
import { verifyAnswer, type Expectation } from './verify-answer.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One answer, as its caller saw it. */
export interface Answer {
  /** From the moment the request was written to the first byte of the body. */
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
  readonly bodyBytes: number;
  /** Requests of the same conversation before this one; 0 where each request is alone. */
  readonly turn: number;
  /** Why this answer does not count as one; undefined when all that was checked is right. */
  readonly failure: string | undefined;
}

export interface CallerOptions {
  readonly address: Address;
  readonly request: ChatRequest;
  /** Undefined: any answer with status 200. */
  readonly expected: Expectation | undefined;
  readonly onAnswer: (answer: Answer) => void;
  /** `gapMs`: since the piece of the same answer before it; undefined for the first one. */
  readonly onBody?: (bytes: number, gapMs: number | undefined) => void;
}

/** One keep-alive connection with at most one request on it. */
export interface Caller {
  /** Sends the request; the caller must be idle. Connects first where it has to. */
  readonly send: () => void;
  readonly idle: () => boolean;
  readonly close: () => void;
}

/** Each caller reads its first answer in full and one in this many after it; the others are checked by their signs. */
const verifyEvery = 50;
const tailBytes = 24;
const doneMark = 'data: [DONE]\n\n';

/** Opens nothing until the first `send`. A connection that ends under a request is the failure `cut`; the next `send` connects anew. */
export function createCaller({ address, request, expected, onAnswer, onBody }: CallerOptions): Caller {
  // An undici Client is one connection, and its default is one request on it at a time.
  const client = new Client(`http://${address.host}:${address.port}`, { headersTimeout: 0, bodyTimeout: 0 });
  const { method = 'POST', path, headers, body, conversations } = request;
  const options: Dispatcher.DispatchOptions = { method, path, headers, body: method === 'GET' ? null : body };
  const nextBody =
    conversations === undefined ? undefined : openBodies(conversations.model, conversations.prompt, nextSeed());
  const tail = Buffer.alloc(tailBytes);
  let busy = false;
  let sent = 0;
  let turn = 0;
  let sentAt = 0;
  let firstByteMs: number | undefined;
  let lastAt: number | undefined;
  let bodyBytes = 0;
  let status = 0;
  let kept: Buffer[] | undefined;

  const finish = (failure: string | undefined): void => {
    if (!busy) return;
    busy = false;
    onAnswer({ firstByteMs, durationMs: performance.now() - sentAt, bodyBytes, turn, failure });
  };

  const check = (): string | undefined => {
    if (status !== 200) return `status ${status}`;
    if (expected === undefined) return undefined;
    if (expected.stream && !tail.toString('latin1').endsWith(doneMark)) return 'no [DONE]';
    return kept === undefined ? undefined : verifyAnswer(Buffer.concat(kept).toString('utf8'), expected);
  };

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart: (_, statusCode) => {
      status = statusCode;
    },
    onResponseData: (_, bytes) => {
      const now = performance.now();
      firstByteMs ??= now - sentAt;
      bodyBytes += bytes.length;
      onBody?.(bytes.length, lastAt === undefined ? undefined : now - lastAt);
      lastAt = now;
      if (expected?.stream === true) keepTail(tail, bytes);
      kept?.push(bytes);
    },
    onResponseEnd: () => finish(check()),
    onResponseError: () => finish('cut'),
  };

  return {
    send() {
      if (busy) throw new Error('one request at a time on a connection');
      busy = true;
      kept = sent % verifyEvery === 0 ? [] : undefined;
      sent += 1;
      firstByteMs = undefined;
      lastAt = undefined;
      bodyBytes = 0;
      tail.fill(0);
      const next = nextBody?.();
      turn = next?.turn ?? 0;
      const own = next === undefined ? options : { ...options, body: next.body };
      sentAt = performance.now();
      client.dispatch(own, handler);
    },
    idle: () => !busy,
    close() {
      busy = false;
      void client.destroy();
    },
  };
}

/** Keeps the last bytes of a body that comes in pieces. */
function keepTail(tail: Buffer, bytes: Buffer): void {
  if (bytes.length >= tailBytes) {
    bytes.copy(tail, 0, bytes.length - tailBytes);
    return;
  }
  tail.copyWithin(0, bytes.length);
  bytes.copy(tail, tailBytes - bytes.length);
}
