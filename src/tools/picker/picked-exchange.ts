import type { AnswerWatch, EndpointPicker, PickAnswer, PickAsk } from './picker.ts';
import type { ByteBudget } from '../../gateway/extproc/byte-budget.ts';
import { type BodyCollector, createBodyCollector } from '../../gateway/core/body-collector.ts';
import type { Call } from '../../gateway/extproc/call.ts';
import {
  type BodyMode,
  bodyResponse,
  type Direction,
  headersResponse,
  type PickerMessage,
  streamedBody,
  trailersResponse,
} from './picker-wire.ts';
import { writeReply } from '../../gateway/extproc/wire.ts';

interface ExchangeOptions {
  readonly picker: EndpointPicker;
  /** See `PickAsk`. */
  readonly sender: string;
  /** The memory of all bodies that have not gone on. */
  readonly budget: ByteBudget;
  /** Encodes a response. */
  readonly write: (response: object) => Buffer;
}

/** A longer body is not read: its request gets an endpoint without knowledge of the prompt. */
const maxBodyBytes = 10 * 1024 * 1024;
/** Bytes of a body in one message. Some gateways accept no more than 64 KiB (the extension's `BodyByteLimit`). */
const pieceBytes = 62_000;

/** The body of a request that waits for its pick. */
interface Waiting {
  readonly path: string;
  readonly subset: readonly string[] | undefined;
  readonly mode: BodyMode;
  readonly collector: BodyCollector;
}

interface Picking {
  readonly kind: 'picking';
  /** Messages that have come meanwhile, in their order. */
  readonly later: PickerMessage[];
  /** Memory of the body so far, and of its pieces in `later`. */
  heldBytes: number;
}

type State =
  | { readonly kind: 'no-head' }
  | { readonly kind: 'collecting'; readonly waiting: Waiting }
  | Picking
  /** The request goes on. */
  | { readonly kind: 'picked'; readonly answer: AnswerWatch; readonly isSettled: boolean }
  | { readonly kind: 'over' };

/**
 * One HTTP request of a gateway that asks for an endpoint, and the answer to it. The body is held until the endpoint is picked, and then
 * goes on unchanged. A failure ends the call with an error, and the gateway does as its failure mode says.
 */
export class PickedExchange {
  readonly #call: Call;
  readonly #options: ExchangeOptions;
  #state: State = { kind: 'no-head' };
  /** Whether the request's body has ended. Nothing that comes after it goes on. */
  #hasEnded = false;
  #modes: { readonly request: BodyMode; readonly response: BodyMode } = { request: 'none', response: 'none' };

  constructor(call: Call, options: ExchangeOptions) {
    this.#call = call;
    this.#options = options;
  }

  message(message: PickerMessage): void {
    if (this.#state.kind === 'picking') this.#handleLater(message, this.#state);
    else this.#handle(message);
  }

  /** What comes while the endpoint is picked goes on after the body so far. */
  #handleLater(message: PickerMessage, picking: Picking): void {
    if (message.kind === 'request-body') {
      picking.heldBytes += message.body.length;
      if (!this.#options.budget.take(this.#call, picking.heldBytes)) {
        this.#fail();
        return;
      }
    }
    picking.later.push(message);
  }

  #handle(message: PickerMessage): void {
    switch (message.kind) {
      case 'request-headers':
        this.#requestHead(message);
        return;
      case 'request-body':
        this.#requestBody(message.body, message.endOfStream);
        return;
      case 'request-trailers':
        this.#requestTrailers();
        return;
      case 'response-headers':
        this.#responseHead(message);
        return;
      case 'response-body':
        this.#responseBody(message.body, message.endOfStream);
        return;
      case 'response-trailers':
        this.#settle('complete');
        this.#send(trailersResponse('response'));
        return;
      case 'other':
        return;
    }
  }

  #requestHead({ headers, endOfStream, subset, modes }: PickerMessage & { readonly kind: 'request-headers' }): void {
    if (this.#state.kind !== 'no-head') return;
    this.#modes = modes;
    this.#hasEnded = endOfStream;
    const path = headers.get(':path') ?? '';
    const waitsForBody = !endOfStream && (modes.request === 'full-duplex' || modes.request === 'buffered');
    if (!waitsForBody) {
      const ask = { path, subset, body: undefined };
      this.#pick(ask, 0, (endpoints) => this.#send(headersResponse('request', endpoints)));
      return;
    }
    const declared = headers.get('content-length');
    const collector = createBodyCollector(declared === undefined ? undefined : Number(declared));
    this.#state = { kind: 'collecting', waiting: { path, subset, mode: modes.request, collector } };
    // Envoy sends a buffered body only when its head has been answered. The endpoint is added to the head with the body.
    if (modes.request === 'buffered') this.#send(headersResponse('request'));
  }

  #requestBody(body: Buffer, endOfStream: boolean): void {
    if (this.#hasEnded) {
      this.#call.onRoom(() => this.#call.readMore(body.length));
      return;
    }
    this.#hasEnded = endOfStream;
    if (this.#state.kind !== 'collecting') {
      this.#pass('request', body, endOfStream);
      return;
    }
    const { waiting } = this.#state;
    const { collector, mode } = waiting;
    // A buffered body comes in one message, which trailers may follow.
    const isWhole = endOfStream || mode === 'buffered';
    const bytes = collector.bytes() + body.length;
    const isHeld = bytes <= maxBodyBytes && this.#options.budget.take(this.#call, collector.memoryFor(bytes));
    collector.add(body, isWhole);
    const readOn = (): void => this.#call.readMore(body.length);
    if (isWhole || !isHeld) {
      this.#pickWithBody(waiting, { isRead: isHeld, endOfStream }, () => this.#call.onRoom(readOn));
    } else readOn();
  }

  #requestTrailers(): void {
    this.#hasEnded = true;
    if (this.#state.kind === 'collecting') {
      const { waiting } = this.#state;
      this.#pickWithBody(waiting, { isRead: true, endOfStream: false }, () => this.#send(trailersResponse('request')));
    } else this.#send(trailersResponse('request'));
  }

  /** Picks, and lets go of the head and of the body so far. */
  #pickWithBody(
    { path, subset, mode, collector }: Waiting,
    { isRead, endOfStream }: { readonly isRead: boolean; readonly endOfStream: boolean },
    then: () => void,
  ): void {
    const body = collector.take();
    this.#pick({ path, subset, body: isRead ? body : undefined }, body.length, (endpoints) => {
      if (mode === 'buffered') this.#send(bodyResponse('request', endpoints));
      else {
        this.#send(headersResponse('request', endpoints));
        this.#sendPieces('request', body, endOfStream);
      }
      then();
    });
  }

  #pick(asked: Omit<PickAsk, 'sender'>, heldBytes: number, then: (endpoints: readonly string[]) => void): void {
    const picking: Picking = { kind: 'picking', later: [], heldBytes };
    this.#state = picking;
    const take = (picked: PickAnswer): void => {
      if (this.#state.kind !== 'picking') {
        // The gateway has left meanwhile.
        if (picked.kind === 'picked') picked.answer.ended('broken');
        return;
      }
      if (picked.kind === 'refused') {
        this.#refuse(picked);
        return;
      }
      this.#state = { kind: 'picked', answer: picked.answer, isSettled: false };
      then(picked.endpoints);
      for (const message of picking.later) this.#handle(message);
      // A gateway that reads nothing keeps what was sent to it in memory.
      this.#call.onRoom(() => this.#options.budget.giveBack(this.#call));
    };
    const { picker, sender } = this.#options;
    const picked = picker.pick({ sender, ...asked });
    if (picked instanceof Promise) picked.then(take).catch(() => this.#fail());
    else take(picked);
  }

  #refuse({ status, message }: PickAnswer & { readonly kind: 'refused' }): void {
    this.#state = { kind: 'over' };
    this.#options.budget.giveBack(this.#call);
    const body = JSON.stringify({ error: { message, type: status === 429 ? 'rate_limit_error' : 'server_error' } });
    this.#call.write(writeReply(status, [['content-type', 'application/json']], body));
    this.#call.end();
  }

  #responseHead({ headers, endOfStream, served }: PickerMessage & { readonly kind: 'response-headers' }): void {
    if (this.#state.kind === 'picked') {
      const status = Number(headers.get(':status') ?? 0);
      this.#state.answer.head({ status, header: (name) => headers.get(name), served });
      // Without its body, the end of the answer is not seen.
      if (endOfStream || this.#modes.response === 'none') this.#settle('complete');
    }
    this.#send(headersResponse('response'));
  }

  #responseBody(body: Buffer, endOfStream: boolean): void {
    if (this.#state.kind === 'picked' && !this.#state.isSettled) this.#state.answer.body(body);
    if (endOfStream) this.#settle('complete');
    this.#pass('response', body, endOfStream);
  }

  /** Lets a piece of a body go on. The next ones are read when there is room for them. */
  #pass(direction: Direction, body: Buffer, endOfStream: boolean): void {
    if (this.#modes[direction] === 'full-duplex') this.#sendPieces(direction, body, endOfStream);
    else this.#send(bodyResponse(direction));
    this.#call.onRoom(() => this.#call.readMore(body.length));
  }

  #sendPieces(direction: Direction, body: Uint8Array, endOfStream: boolean): void {
    let at = 0;
    do {
      const end = Math.min(body.length, at + pieceBytes);
      this.#send(streamedBody(direction, body.subarray(at, end), endOfStream && end === body.length));
      at = end;
    } while (at < body.length);
  }

  #settle(how: 'complete' | 'broken'): void {
    if (this.#state.kind !== 'picked' || this.#state.isSettled) return;
    const { answer } = this.#state;
    this.#state = { kind: 'picked', answer, isSettled: true };
    answer.ended(how);
  }

  #send(response: object): void {
    if (this.#state.kind !== 'over') this.#call.write(this.#options.write(response));
  }

  #fail(): void {
    this.#leaveQuietly();
    this.#call.fail();
  }

  #leaveQuietly(): void {
    this.#settle('broken');
    if (this.#state.kind === 'collecting') this.#state.waiting.collector.discard();
    this.#options.budget.giveBack(this.#call);
    this.#state = { kind: 'over' };
  }

  /** The gateway has sent everything, or has left. */
  over(): void {
    this.#leaveQuietly();
    this.#call.end();
  }
}
