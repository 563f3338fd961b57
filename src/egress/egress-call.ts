import type { Dispatcher } from 'undici';
import type { UpstreamListener, UpstreamStream } from '../core/upstream.ts';

/** Envoy answers with it when it has no answer of an engine: its response flags, such as `UF` for a failed connection. */
const egressFailureHeader = 'x-weir-egress-failure';

/**
 * Bytes of one answer after which everything else has its turn, about one read of a socket. A socket that always has more is
 * read up to 32 times in a row: an engine that floods would hold up everybody for as long as two megabytes take.
 */
const turnBytes = 64 * 1024;

/** An error whose code is reported as the reason of the failure. */
const fault = (code: string): Error => Object.assign(new Error(code), { code });

const aborted = fault('ABORTED');

/**
 * The reason of a failure: the code of the error and never its message, which could quote the answer. The errors without a
 * code are the parser's, on what is not HTTP/1.1, and those of a listener that throws.
 */
function reasonOf({ code }: Error & { readonly code?: unknown }): string {
  if (code === 'UND_ERR_INVALID_ARG') return 'INVALID_REQUEST';
  return typeof code === 'string' ? code : 'PROTOCOL';
}

type ResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** The value of a header, the first one of several. */
function first(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** One call, from its connection to its end: what undici tells of it, told to its listener. */
export class EgressCall implements Dispatcher.DispatchHandler, UpstreamStream {
  readonly #listener: UpstreamListener;
  readonly #over: () => void;
  readonly #reached: () => Promise<boolean>;
  /** There is one once the call is on a connection. */
  #controller: Dispatcher.DispatchController | undefined;
  #state: 'open' | 'over' = 'open';
  /** Whether the listener holds the answer back. */
  #held = false;
  #bytesInTurn = 0;

  constructor(
    listener: UpstreamListener,
    { over, reached }: { readonly over: () => void; readonly reached: () => Promise<boolean> },
  ) {
    this.#listener = listener;
    this.#over = over;
    this.#reached = reached;
  }

  reached = (): Promise<boolean> => this.#reached();

  abort = (): void => {
    const controller = this.#controller;
    // The connection closes, so that Envoy resets the engine's stream.
    if (this.#finish()) controller?.abort(aborted);
  };

  pause = (): void => {
    this.#held = true;
    this.#controller?.pause();
  };

  resume = (): void => {
    this.#held = false;
    this.#readOnLater();
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // It was given up while its connection was being made: nothing has been sent.
    if (this.#state === 'over') return controller.abort(aborted);
    this.#controller = controller;
    if (this.#held) controller.pause();
    return undefined;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    const failure = first(headers, egressFailureHeader);
    const coding = headers['transfer-encoding'] ?? 'chunked';
    if (failure !== undefined) controller.abort(fault(`Envoy ${failure}`));
    // The parser lets both pass, and would hand out a body that is still encoded.
    else if (status === 101 || coding !== 'chunked') controller.abort(fault('PROTOCOL'));
    // Those before it are interim answers.
    else if (status >= 200) this.#listener.head(status, (name) => first(headers, name));
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#state === 'over') return;
    this.#bytesInTurn += bytes.length;
    if (this.#bytesInTurn >= turnBytes) {
      this.#bytesInTurn = 0;
      controller.pause();
      this.#readOnLater();
    }
    this.#listener.data(bytes);
  }

  onResponseEnd(): void {
    if (this.#finish()) this.#listener.ended();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#finish()) this.#listener.failed(reasonOf(error));
  }

  /** In a turn of its own: undici cannot read one answer on from within a piece of another. */
  #readOnLater(): void {
    setImmediate(() => {
      if (!this.#held) this.#controller?.resume();
    });
  }

  #finish(): boolean {
    if (this.#state === 'over') return false;
    this.#state = 'over';
    this.#controller = undefined;
    this.#over();
    return true;
  }
}
