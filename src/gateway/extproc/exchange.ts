import type { Delivery, Exchange, RequestHead, Upload } from '../../core/exchange.ts';
import type { Headers } from '../../core/headers.ts';
import { bodyTooLarge } from '../../core/failure.ts';
import { type BodyCollector, createBodyCollector } from '../core/body-collector.ts';
import type { Call } from './call.ts';
import type { ConnectionLoss } from './connection-loss.ts';
import { writeBody, writeReply, writeStart } from './wire.ts';

/** Watches an answer on its way over a client's connection, which Envoy names in `x-weir-client-connection`. */
export type OpenDelivery = (connection: string) => Delivery;

/** Abort reason when a caller leaves. One object for all: an Error per caller would cost a stack trace each. */
const callerLeft: unique symbol = Symbol('caller left');

interface BodyWaiter {
  readonly limitBytes: number;
  readonly upload: Upload | undefined;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (reason: unknown) => void;
}

/** One ext_proc stream, seen as one HTTP exchange. Lives as long as its gRPC call. */
export class ExtProcExchange implements Exchange {
  readonly head: RequestHead;
  readonly #call: Call;
  readonly #abort = new AbortController();
  /** Collects the body. Undefined once the body is handed over, or once it is not needed. */
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
    const declared = headers.get('content-length');
    this.#collector = createBodyCollector(declared === undefined ? undefined : Number(declared));
    this.#loss = options.loss;
    this.head = {
      method: headers.get(':method') ?? '',
      path: headers.get(':path') ?? '',
      address: headers.get('x-weir-client-address'),
      header: (name) => headers.get(name),
      traceparent: () => call.traceparent(),
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

  /**
   * A piece of the request body has come. Pieces that will not be read are dropped, and so is everything after the end:
   * an Envoy may send the end twice, and a stage may begin to wait only after it.
   */
  receive(piece: Buffer, endOfStream: boolean): void {
    const collector = this.#collector;
    if (collector === undefined || this.#received) return;
    this.#received ||= endOfStream;
    const waiter = this.#waiter;
    // Until a stage waits for the body, only a little of it is read.
    if (waiter !== undefined && !this.#mayHold(collector.bytes() + piece.length, waiter, collector)) return;
    collector.add(piece, endOfStream);
    if (waiter !== undefined && this.#received) this.#deliver(waiter, collector);
  }

  body(limitBytes: number, upload?: Upload): Promise<Uint8Array> {
    const collector = this.#collector;
    // The caller may have left while its key was looked up: then nothing would end the wait.
    if (collector === undefined) return Promise.reject(callerLeft);
    return new Promise((resolve, reject) => {
      const waiter = { limitBytes, upload, resolve, reject };
      this.#waiter = waiter;
      if (!this.#mayHold(collector.bytes(), waiter, collector)) return;
      if (this.#received) {
        this.#deliver(waiter, collector);
        return;
      }
      const read = (): void => this.#call.readMore(Infinity);
      if (upload === undefined) read();
      else upload.begin({ read, expire: (failure) => this.#refuseBody(waiter, failure) });
    });
  }

  /** Whether the body may have this many bytes now; refuses it if not. */
  #mayHold(bytes: number, waiter: BodyWaiter, collector: BodyCollector): boolean {
    try {
      if (bytes > waiter.limitBytes) throw bodyTooLarge(waiter.limitBytes);
      waiter.upload?.hold(bytes, collector.memoryFor(bytes));
      return true;
    } catch (error) {
      this.#refuseBody(waiter, error);
      return false;
    }
  }

  #refuseBody(waiter: BodyWaiter, reason: unknown): void {
    this.#forgetBody();
    waiter.reject(reason);
  }

  #deliver(waiter: BodyWaiter, collector: BodyCollector): void {
    this.#waiter = undefined;
    this.#collector = undefined;
    waiter.upload?.complete();
    waiter.resolve(collector.take());
  }

  #forgetBody(): void {
    this.#waiter = undefined;
    this.#collector?.discard();
    this.#collector = undefined;
  }

  reply(status: number, headers: Headers, body: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'over';
    this.#forgetBody();
    // One message, of the only kind that Envoy accepts while the request's body is still arriving.
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
   * Called at a half-close. Before the answer is complete, it means that the caller or Envoy has left. On a finished
   * exchange it means nothing, and must not cause an abort.
   */
  leave(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#delivery?.release();
    const waiter = this.#waiter;
    this.#forgetBody();
    this.#abort.abort(callerLeft);
    waiter?.reject(callerLeft);
    this.#call.end();
  }
}
