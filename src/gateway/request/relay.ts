import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { AnswerIdentity, AskedAnswer, Dialect, WriteOptions } from '../../core/dialect.ts';
import type { RelayedEvent } from '../../core/event.ts';
import type { Exchange } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { Failure, type FailureCode } from '../../core/failure.ts';
import type { Bill } from '../../core/money.ts';
import type { Request } from '../../core/request.ts';
import { eventStreamType } from '../dialects/sse.ts';
import { requestIdHeaders } from './reply.ts';

/** Sends an answer to its caller, as a stream or whole. */
export interface Relay {
  /** False: the connection to the caller is full. Push more after the exchange's `onDrain`. */
  readonly push: (events: readonly RelayedEvent[]) => boolean;
  /**
   * `last`: headers of an answer that has not begun yet, in place of `RelayOptions.early`. Returns a promise for a large answer, which
   * is sent as fast as its caller takes it.
   */
  readonly finish: (bill: Bill, last?: Headers) => void | Promise<void>;
  /**
   * Ends an answer that has begun and cannot be completed, with an error in its client's format
   * (docs/reference/api.md §7.3). `reason`: the error that the caller would get if nothing had been sent yet.
   */
  readonly fail: (reason?: Failure) => void;
  /** Call when the answer is over: silence is not broken any more. */
  readonly stop: () => void;
}

/** Sends an answer, and can break a silence. */
interface Sender extends Omit<Relay, 'stop'> {
  /** Sends something without meaning, so that neither the client nor a proxy gives up on the silent connection. The status is 200 from then on. */
  readonly keepAlive: () => void;
}

export interface RelayOptions extends Silence {
  readonly exchange: Exchange;
  readonly dialect: Dialect;
  readonly identity: AnswerIdentity;
  readonly request: AskedAnswer & Pick<Request, 'stream' | 'inert'>;
  /** Further headers of the answer. */
  readonly headers: Headers;
  /** Headers of an answer that begins before its bill is made. */
  readonly early?: Headers | undefined;
  readonly writing?: WriteOptions | undefined;
}

/** Relays an answer in the form that its request asks for: as a stream or whole. */
export function relayAnswer(options: RelayOptions): Relay {
  const silence = keepAlive({ ...options, speak: () => sender.keepAlive() });
  const sender = senderFor(options, silence.sent);
  return { ...sender, stop: silence.stop };
}

/** `sent` is called with each piece that goes to the caller. What an engine sends and the writer holds back is silence to a caller. */
function senderFor(options: RelayOptions, sent: () => void): Sender {
  const { stream, inert } = options.request;
  const named: Headers = inert.length === 0 ? [] : [['x-service-inert-params', inert.join(', ')]];
  const id = requestIdHeaders(options.dialect, options.exchange.head);
  const headers: Headers = [['cache-control', 'no-store'], ...id, ...options.headers, ...named];
  return stream ? streamSender({ ...options, headers }, sent) : jsonSender({ ...options, headers });
}

/**
 * The error that ends an answer that has begun. If the caller is to blame, the error has the reason's message, without
 * advice to retry.
 */
function ending(code: FailureCode, usual: string, reason: Failure | undefined): Failure {
  if (reason?.row.blame !== 'caller') return new Failure(code, usual);
  return new Failure(code, reason.message, { about: reason.about });
}

function streamSender(
  { exchange, dialect, identity, request, headers, early = [], writing }: RelayOptions,
  sent: () => void,
): Sender {
  const writer = dialect.createStreamWriter(identity, request, writing);
  const typed: Headers = [['content-type', `${eventStreamType}; charset=utf-8`], ...headers, ...early];
  return {
    push: (events) => {
      exchange.start(200, typed);
      const text = writer.push(events);
      if (text === '') return true;
      sent();
      return exchange.write(text);
    },
    keepAlive: () => {
      exchange.start(200, typed);
      exchange.write(writer.keepAlive());
    },
    finish: (bill) => {
      // A stream ends only after it has begun, also if all of its output was held back.
      exchange.start(200, typed);
      exchange.end(writer.finish(bill));
    },
    fail: (reason) =>
      exchange.end(
        writer.fail(ending('stream_interrupted', 'The answer was interrupted. It is safe to retry.', reason)),
      ),
  };
}

function jsonSender({ exchange, dialect, identity, request, headers, early = [], writing }: RelayOptions): Sender {
  const writer = dialect.createJsonWriter(identity, request, writing);
  const typed: Headers = [['content-type', 'application/json'], ...headers];
  const usual = 'The answer could not be completed. Nothing is billed; it is safe to retry.';
  return {
    push: (events) => {
      writer.push(events);
      return true;
    },
    keepAlive: () => {
      exchange.start(200, [...typed, ...early]);
      // White space may stand before any JSON value (RFC 8259 §2).
      exchange.write(' ');
    },
    finish: (bill, last = []) => {
      const pieces = writer.pieces?.(bill);
      if (pieces !== undefined) {
        if (!exchange.started()) exchange.start(200, [...typed, ...last]);
        return sendPieces(exchange, pieces);
      }
      const text = writer.finish(bill);
      if (exchange.started()) exchange.end(text);
      else exchange.reply(200, [...typed, ...last], text);
      return undefined;
    },
    fail: (reason) => exchange.end(dialect.writeError(ending('upstream_incomplete', usual, reason))),
  };
}

/** Sends an answer piece by piece. The next piece is made when there is room for it. Ends early when the caller leaves. */
async function sendPieces(exchange: Exchange, pieces: Iterable<string>): Promise<void> {
  for (const piece of pieces) {
    if (!exchange.write(piece)) await roomIn(exchange);
    if (exchange.signal.aborted) return;
  }
  exchange.end('');
}

function roomIn(exchange: Exchange): Promise<void> {
  const { signal } = exchange;
  return new Promise((resolve) => {
    const go = (): void => {
      signal.removeEventListener('abort', go);
      resolve();
    };
    signal.addEventListener('abort', go);
    if (signal.aborted) go();
    else exchange.onDrain(go);
  });
}

/** How long a silence towards a caller may last. */
interface Silence {
  readonly clock: Clock;
  readonly keepAliveMs: number;
}

/**
 * Breaks the silence of an answer at intervals.
 * Runs `speak` after each `keepAliveMs` of silence until it is stopped. Its one timer is set when it fires, not with each chunk.
 */
export function keepAlive(options: Silence & { readonly speak: () => void }) {
  const { clock, keepAliveMs: everyMs, speak } = options;
  let lastSent = clock.elapsed();
  let cancelTimer: CancelTimer = () => undefined;

  function watch(delayMs: number): void {
    cancelTimer = clock.after(delayMs, () => {
      const left = lastSent + everyMs - clock.elapsed();
      if (left > 0) watch(left);
      else {
        lastSent = clock.elapsed();
        watch(everyMs);
        speak();
      }
    });
  }

  watch(everyMs);
  return {
    /** Call when a piece of the answer is sent. The silence begins again. */
    sent: (): void => {
      lastSent = clock.elapsed();
    },
    stop: (): void => cancelTimer(),
  };
}
