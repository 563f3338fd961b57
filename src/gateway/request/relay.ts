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
  /** Sends bytes without meaning, so that no proxy closes the silent connection. The status is 200 from then on. */
  readonly keepAlive: () => void;
  readonly finish: (bill: Bill) => void;
  /**
   * Ends an answer that has begun and cannot be completed, with an error in its client's format
   * (docs/reference/api.md §7.3). `reason`: the error that the caller would get if nothing had been sent yet.
   */
  readonly fail: (reason?: Failure) => void;
}

export interface RelayOptions {
  readonly exchange: Exchange;
  readonly dialect: Dialect;
  readonly identity: AnswerIdentity;
  readonly request: AskedAnswer & Pick<Request, 'stream' | 'inert'>;
  /** Further headers of the answer. */
  readonly headers: Headers;
  readonly writing?: WriteOptions | undefined;
}

/** Relays an answer in the form that its request asks for: as a stream or whole. */
export function relayAnswer(options: RelayOptions): Relay {
  const { stream, inert } = options.request;
  const named: Headers = inert.length === 0 ? [] : [['x-service-inert-params', inert.join(', ')]];
  const id = requestIdHeaders(options.dialect, options.exchange.head);
  const headers: Headers = [['cache-control', 'no-store'], ...id, ...options.headers, ...named];
  return stream ? relayStream({ ...options, headers }) : relayJson({ ...options, headers });
}

/**
 * The error that ends an answer that has begun. If the caller is to blame, the error has the reason's message, without
 * advice to retry.
 */
function ending(code: FailureCode, usual: string, reason: Failure | undefined): Failure {
  if (reason?.row.blame !== 'caller') return new Failure(code, usual);
  return new Failure(code, reason.message, { about: reason.about });
}

/** Relays an answer as server-sent events. */
function relayStream({ exchange, dialect, identity, request, headers, writing }: RelayOptions): Relay {
  const writer = dialect.createStreamWriter(identity, request, writing);
  const typed: Headers = [['content-type', `${eventStreamType}; charset=utf-8`], ...headers];
  return {
    push: (events) => {
      exchange.start(200, typed);
      const text = writer.push(events);
      return text === '' || exchange.write(text);
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

/** Relays an answer as one JSON object. */
function relayJson({ exchange, dialect, identity, request, headers, writing }: RelayOptions): Relay {
  const writer = dialect.createJsonWriter(identity, request, writing);
  const typed: Headers = [['content-type', 'application/json'], ...headers];
  const usual = 'The answer could not be completed. Nothing is billed; it is safe to retry.';
  return {
    push: (events) => {
      writer.push(events);
      return true;
    },
    keepAlive: () => {
      exchange.start(200, typed);
      // White space may stand before any JSON value (RFC 8259 §2).
      exchange.write(' ');
    },
    finish: (bill) => {
      const text = writer.finish(bill);
      if (exchange.started()) exchange.end(text);
      else exchange.reply(200, typed, text);
    },
    fail: (reason) => exchange.end(dialect.writeError(ending('upstream_incomplete', usual, reason))),
  };
}

/** Breaks the silence of an answer at intervals. */
export interface KeepAlive {
  /** Call when a piece of the answer is sent. The silence begins again. */
  readonly sent: () => void;
  readonly stop: () => void;
}

/** Runs `speak` after each `everyMs` of silence until it is stopped. Its one timer is set when it fires, not with each chunk. */
export function keepAlive(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly speak: () => void;
}): KeepAlive {
  const { clock, everyMs, speak } = options;
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
    sent: () => {
      lastSent = clock.elapsed();
    },
    stop: () => cancelTimer(),
  };
}
