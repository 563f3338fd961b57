import type { Delivery } from '../../core/delivery.ts';
import type { Exchange, Headers, RequestHead } from '../../core/exchange.ts';
import { Failure } from '../../core/failure.ts';
import { type BodyCollector, createBodyCollector } from './body-collector.ts';
import type { ConnectionLoss } from './connection-loss.ts';
import type { Call } from './grpc-stream.ts';
import { writeBody, writeReply, writeStart } from './wire.ts';

/** Watches an answer on its way over a client's connection, which Envoy names in `x-weir-client-connection`. */
export type OpenDelivery = (connection: string) => Delivery;

/** Abort reason when a caller leaves. One object for all: an Error per caller would cost a stack trace each. */
const callerLeft: unique symbol = Symbol('caller left');

interface BodyWaiter {
  readonly limitBytes: number;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (reason: unknown) => void;
}

/** One ext_proc stream, seen as one HTTP exchange. Lives as long as its gRPC call. */
export class ExtProcExchange implements Exchange {
  readonly head: RequestHead;
  readonly #call: Call;
  readonly #abort = new AbortController();
  /** Until somebody wants the body, what came of it. */
  #early: Buffer[] = [];
  #collector: BodyCollector | undefined;
  #received: boolean;
  #waiter: BodyWaiter | undefined;
  #state: 'open' | 'started' | 'over' = 'open';
  #delivery: Delivery | undefined;
  readonly #openDelivery: OpenDelivery;
  readonly #loss: ConnectionLoss;

  constructor(
    call: Call,
    headers: ReadonlyMap<string, string>,
    options: { readonly endOfStream: boolean; readonly openDelivery: OpenDelivery; readonly loss: ConnectionLoss },
  ) {
    this.#call = call;
    this.#received = options.endOfStream;
    this.#openDelivery = options.openDelivery;
    this.#loss = options.loss;
    const address = headers.get('x-weir-client-address');
    this.head = {
      method: headers.get(':method') ?? '',
      path: headers.get(':path') ?? '',
      ...(address === undefined ? {} : { address }),
      header: (name) => headers.get(name),
    };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  lost(): Promise<boolean> {
    return this.#loss.settled(this.#state === 'over' ? 'caller-left' : 'failed');
  }

  started(): boolean {
    return this.#state === 'started';
  }

  /** A piece of the request body has come. Pieces that nobody will read are dropped, not kept. */
  receive(piece: Buffer, endOfStream: boolean): void {
    if (this.#state === 'over') return;
    this.#received ||= endOfStream;
    if (this.#collector === undefined) {
      this.#early.push(piece);
    } else {
      this.#collector.add(piece);
      this.#deliver();
    }
  }

  body(limitBytes: number): Promise<Uint8Array> {
    // It may have left while its key was looked up: nobody would ever end the wait.
    if (this.#state === 'over') return Promise.reject(callerLeft);
    const declared = this.head.header('content-length');
    const collector = createBodyCollector(declared === undefined ? undefined : Number(declared));
    for (const piece of this.#early) collector.add(piece);
    this.#early = [];
    return new Promise((resolve, reject) => {
      this.#collector = collector;
      this.#waiter = { limitBytes, resolve, reject };
      this.#deliver();
    });
  }

  /** Hands the body over once it is whole, or the refusal as soon as it is too large. */
  #deliver(): void {
    const waiter = this.#waiter;
    const collector = this.#collector;
    if (waiter === undefined || collector === undefined) return;
    const isTooLarge = collector.bytes() > waiter.limitBytes;
    if (!isTooLarge && !this.#received) return;
    this.#waiter = undefined;
    if (isTooLarge) waiter.reject(tooLarge(waiter.limitBytes));
    else waiter.resolve(collector.take());
  }

  reply(status: number, headers: Headers, body: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'over';
    this.#early = [];
    this.#collector = undefined;
    // One message, and the only kind that Envoy takes while the request's body is still coming in.
    this.#call.write(writeReply(status, headers, body));
    this.#call.end();
  }

  start(status: number, headers: Headers): void {
    if (this.#state !== 'open') return;
    this.#state = 'started';
    this.#delivery = this.#openDelivery(this.head.header('x-weir-client-connection') ?? '');
    this.#call.write(writeStart(status, headers));
  }

  write(text: string): boolean {
    if (this.#state !== 'started') return false;
    const piece = writeBody(text, false);
    const flows = this.#call.write(piece);
    return (this.#delivery?.wrote(piece.length) ?? true) && flows;
  }

  end(text: string): void {
    if (this.#state !== 'started') return;
    this.#state = 'over';
    this.#delivery?.release();
    this.#call.write(writeBody(text, true));
    this.#call.end();
  }

  onDrain(run: () => void): void {
    const afterWindow = (): void => (this.#delivery === undefined ? run() : this.#delivery.onRoom(run));
    this.#call.onRoom(afterWindow);
  }

  /**
   * The caller left, or Envoy did: a half-close before the answer is complete means that. On a finished exchange it
   * means nothing, and must not cost an abort.
   */
  leave(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#delivery?.release();
    this.#early = [];
    this.#collector = undefined;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.#abort.abort(callerLeft);
    waiter?.reject(callerLeft);
    this.#call.end();
  }
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('body_too_large', `Request body is over ${limitBytes} bytes.`);
}
