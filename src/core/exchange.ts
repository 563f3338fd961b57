import type { Failure } from './failure.ts';
import type { Headers } from './headers.ts';

export interface RequestHead {
  readonly method: string;
  /** The path with the query, if there is one. */
  readonly path: string;
  /** The client's IP address, which trusted proxies report if there are any. Absent when it is not known. */
  readonly address?: string | undefined;
  /** First line of a header, by lowercase name. Of `x-weir-tags`, all lines, with commas. */
  readonly header: (name: string) => string | undefined;
  /**
   * W3C `traceparent` of the span that Envoy has made for this exchange, with the decision whether its trace is
   * recorded. Undefined, or absent: Envoy made none. The request's header `traceparent` is the caller's.
   */
  readonly traceparent?: () => string | undefined;
}

/** The caller's or Envoy's `x-request-id`. Empty if it is long or has special characters, because a caller can write anything there. */
export function correlationIdOf(head: Pick<RequestHead, 'header'>): string {
  const text = head.header('x-request-id') ?? '';
  return /^[\w.:-]{1,64}$/.test(text) ? text : '';
}

/** One HTTP exchange with a caller, over any transport. */
export interface Exchange {
  readonly head: RequestHead;
  /** Aborts when the caller leaves before the answer is complete. */
  readonly signal: AbortSignal;
  /**
   * The whole request body. Rejects with `body_too_large` as soon as more than `limitBytes` have come, with the
   * upload's own refusal when its bound or its time is exceeded, and with the signal's reason when the caller leaves. A
   * rejection frees the memory.
   */
  readonly body: (limitBytes: number, upload?: Upload) => Promise<Uint8Array>;
  /** Answers at once with a whole body. An error with an empty one gets the body of Envoy's own reply with this status. */
  readonly reply: (status: number, headers: Headers, body: string) => void;
  /** Starts an answer whose body follows in pieces. */
  readonly start: (status: number, headers: Headers) => void;
  /** Sends a piece of the body. False when the way to the caller is full: send more after `onDrain`. */
  readonly write: (text: string) => boolean;
  /** Calls `run` once when there is room again. */
  readonly onDrain: (run: () => void) => void;
  /** Sends the last piece, which may be empty. */
  readonly end: (text: string) => void;
  /**
   * Whether an exchange that did not end well was broken by the gateway and not by its caller. Resolves after a moment,
   * because a connection loss that has only begun becomes visible a little later.
   */
  readonly lost: () => Promise<boolean>;
  /** Whether an answer was started and has not ended. */
  readonly started: () => boolean;
}

/** Bytes of one step. An upload is charged step by step, and its memory grows by whole steps. */
export const uploadStepBytes = 64 * 1024;

export interface Arrival {
  /** Called once, when more than the beginning of the body may be received: at once unless many large bodies are being received. */
  readonly read: () => void;
  /** Called at most once, when no bytes arrive for too long. */
  readonly expire: (failure: Failure) => void;
}

/** The account of one request body, from its first byte until its request ends. */
export interface Upload {
  /** Begins to wait for its bytes. */
  readonly begin: (arrival: Arrival) => void;
  /** Records how many bytes have arrived in all and how much memory they take. Throws the refusal when a bound is exceeded. */
  readonly hold: (arrivedBytes: number, memoryBytes: number) => void;
  /** Records that the whole body has arrived: its time no longer counts, its memory does. */
  readonly complete: () => void;
  /**
   * Records that a body of so many bytes was read. Its request keeps it until it ends, for further attempts. False: it is of a single
   * step, which is part of what an open request may take, and its account is closed.
   */
  readonly read: (bodyBytes: number) => boolean;
  /** Gives the memory back. Further calls do nothing. */
  readonly close: () => void;
}

/** The workspace and the address that an upload is charged to. */
export interface UploadOwner {
  readonly workspaceId: string;
  /** The client's IP address; undefined where it is not known. */
  readonly address: string | undefined;
}

/** One answer on its way to its reader. */
export interface Delivery {
  /** Counts bytes handed on. False: hold the next piece back until `onRoom` runs. */
  readonly wrote: (bytes: number) => boolean;
  /** Calls `run` once, as soon as there is room; at once when there is. */
  readonly onRoom: (run: () => void) => void;
  /** The answer is over. `onRoom` does not run any more. */
  readonly release: () => void;
}
