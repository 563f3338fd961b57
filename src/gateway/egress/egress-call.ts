import type { Dispatcher } from 'undici';
import type { Cause } from '../../core/cause.ts';
import type { AtTurnEnd } from '../../core/clock.ts';
import type { UpstreamListener, UpstreamStream } from '../core/upstream.ts';
import { contentCodingIn } from '../core/content-coding.ts';
import { connectCause } from '../../core/connect-cause.ts';
import { type BodyDecoder, decodeAnswer } from './decode-answer.ts';

/**
 * Header that names the endpoint of a call to Envoy. In the answer it names the endpoint that Envoy has called instead.
 * Base64 of `Endpoint.name`.
 */
export const endpointHeader = 'x-weir-endpoint';

/** Header of Envoy's own answers: its response flags, such as `UF` for a failed connection. */
const egressFailureHeader = 'x-weir-egress-failure';

/** Header of Envoy's own answers: its response code details, and why the transport failed. */
const egressDetailHeader = 'x-weir-egress-detail';

/**
 * Bytes of one answer after which other work has its turn, about one read of a socket. Node reads a socket with more
 * data up to 32 times in a row. So an engine that floods would delay all other calls by the time that two megabytes
 * take.
 */
const turnBytes = 64 * 1024;

/** An error whose code is reported as the reason of the failure. */
const fault = (code: string): Error => Object.assign(new Error(code), { code });

const aborted = fault('ABORTED');

/**
 * The reason of a failure: the code of the error and never its message, which could quote the answer. An error without
 * a code is from the parser: the answer is not HTTP/1.1.
 */
function reasonOf({ code }: Error & { readonly code?: unknown }): string {
  if (code === 'UND_ERR_INVALID_ARG') return 'INVALID_REQUEST';
  return typeof code === 'string' ? code : 'PROTOCOL';
}

type ResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

function first(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** A step of an answer that undici has reported. The listener of the call does not have it yet. */
type Step =
  | { readonly kind: 'head'; readonly status: number; readonly headers: ResponseHeaders }
  | { readonly kind: 'data'; readonly bytes: Buffer }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly reason: string; readonly cause?: Cause | undefined };

interface CallOwner {
  readonly over: () => void;
  readonly reached: () => Promise<boolean>;
  /** The listener is notified at the end of the turn of the event loop in which something arrived. */
  readonly atTurnEnd: AtTurnEnd;
}

/** One call, from its connection to its end. It passes what undici reports to its listener, at the end of each turn. */
export class EgressCall implements Dispatcher.DispatchHandler, UpstreamStream {
  readonly #listener: UpstreamListener;
  readonly #owner: CallOwner;
  /** Defined once the call has a connection. */
  #controller: Dispatcher.DispatchController | undefined;
  /** Undefined: the body is not encoded. */
  #decoder: BodyDecoder | undefined;
  #isOver = false;
  /** Whether the listener holds the answer back. */
  #isHeld = false;
  #isReading = true;
  #steps: Step[] = [];
  #bytesInTurn = 0;
  /** What Envoy's own answer says about the failure. */
  #cause: Cause | undefined;

  constructor(listener: UpstreamListener, owner: CallOwner) {
    this.#listener = listener;
    this.#owner = owner;
  }

  reached = (): Promise<boolean> => this.#owner.reached();

  abort = (): void => {
    const controller = this.#controller;
    // The connection closes, so that Envoy resets the engine's stream.
    if (this.#finish()) controller?.abort(aborted);
  };

  pause = (): void => {
    this.#isHeld = true;
    this.#stopReading();
  };

  resume = (): void => {
    this.#isHeld = false;
    this.#owner.atTurnEnd(this.#pass);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The call was given up while its connection was being made: nothing has been sent.
    if (this.#isOver) return controller.abort(aborted);
    this.#controller = controller;
    if (this.#isHeld) this.#stopReading();
    return undefined;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // These are slices, which would keep all bytes that were read with the head until the answer ends.
    controller.rawHeaders = null;
    const failure = first(headers, egressFailureHeader);
    const coding = headers['transfer-encoding'] ?? 'chunked';
    if (failure !== undefined) {
      this.#cause = connectCause(first(headers, egressDetailHeader));
      controller.abort(fault(`Envoy ${failure}`));
    }
    // The parser accepts a switch of protocols and any encoding, and would pass on a body that is still encoded.
    else if (status === 101 || coding !== 'chunked') controller.abort(fault('PROTOCOL'));
    // Lower statuses are interim answers.
    else if (status >= 200 && this.#decode(controller, headers)) this.#take({ kind: 'head', status, headers });
  }

  /** Prepares to read the body in its coding, which some engines and proxies use unasked. False: it cannot be read. */
  #decode(controller: Dispatcher.DispatchController, headers: ResponseHeaders): boolean {
    const encoding = headers['content-encoding'];
    const coding = encoding === undefined ? undefined : contentCodingIn(String(encoding));
    if (coding === undefined) return true;
    if (coding === 'unknown') {
      controller.abort(fault('ENCODING'));
      return false;
    }
    this.#decoder = decodeAnswer(coding, {
      data: (bytes) => this.#takeBytes(bytes),
      ended: () => this.#take({ kind: 'ended' }),
      failed: (reason) => {
        this.#take({ kind: 'failed', reason });
        controller.abort(aborted);
      },
      drained: () => (this.#isReading ? controller.resume() : undefined),
    });
    return true;
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#decoder === undefined) this.#takeBytes(bytes);
    else if (!this.#decoder.push(bytes)) controller.pause();
  }

  #takeBytes(bytes: Buffer): void {
    this.#bytesInTurn += bytes.length;
    if (this.#bytesInTurn >= turnBytes) this.#stopReading();
    this.#take({ kind: 'data', bytes });
  }

  onResponseEnd(): void {
    if (this.#decoder === undefined) this.#take({ kind: 'ended' });
    else this.#decoder.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#take({ kind: 'failed', reason: reasonOf(error), cause: this.#cause });
  }

  #take(step: Step): void {
    if (!this.#isOver && this.#steps.push(step) === 1) this.#owner.atTurnEnd(this.#pass);
  }

  /** Passes the steps to the listener. Stops if the listener holds the answer back; otherwise reads on. */
  readonly #pass = (): void => {
    const steps = this.#steps;
    this.#steps = [];
    for (const [index, step] of steps.entries()) {
      if (this.#isOver) return;
      // A head needs no room, and the listener may wait for its status.
      if (this.#isHeld && step.kind !== 'head') {
        this.#steps = steps.slice(index);
        return;
      }
      this.#passStep(step);
    }
    this.#bytesInTurn = 0;
    if (this.#isReading || this.#isHeld) return;
    // Set first, because `resume` may read the rest at once.
    this.#isReading = true;
    this.#controller?.resume();
    this.#decoder?.resume();
  };

  #stopReading(): void {
    this.#isReading = false;
    this.#controller?.pause();
    this.#decoder?.pause();
  }

  #passStep(step: Step): void {
    try {
      switch (step.kind) {
        case 'head': {
          const moved = first(step.headers, endpointHeader);
          if (moved !== undefined) this.#listener.movedTo?.(Buffer.from(moved, 'base64').toString());
          return this.#listener.head(step.status, (name) => first(step.headers, name));
        }
        case 'data':
          return this.#listener.data(step.bytes);
        case 'ended':
          if (this.#finish()) this.#listener.ended();
          return undefined;
        case 'failed':
          if (this.#finish()) this.#listener.failed(step.reason, step.cause);
          return undefined;
      }
    } catch {
      // The listener threw. Only this call has failed, not the others of this turn.
      const controller = this.#controller;
      if (this.#finish()) this.#listener.failed('PROTOCOL');
      controller?.abort(aborted);
    }
  }

  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#controller = undefined;
    this.#decoder?.close();
    this.#decoder = undefined;
    this.#owner.over();
    return true;
  }
}
