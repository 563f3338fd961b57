import type { Feature, OwnField } from './capability.ts';
import type { Cause } from './cause.ts';
import type { CountedBy, Usage } from './money.ts';
import type { Citation, SearchResult } from './web-search.ts';

/** Why an answer ended, in the chat format's words. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Token probabilities of one choice's delta, carried as the engine wrote them. */
export interface Logprobs {
  readonly content?: readonly unknown[] | null;
  readonly refusal?: readonly unknown[] | null;
}

/**
 * A piece of text, reasoning or refusal. Deltas that arrive together become one event. `deltas` is their number, and
 * estimates the tokens when no better count is known.
 */
export interface TextEvent {
  readonly type: 'text-delta' | 'reasoning-delta' | 'refusal-delta';
  readonly choice: number;
  readonly text: string;
  readonly deltas: number;
  readonly logprobs?: Logprobs | undefined;
  /** The sources of this whole text. Only the service's own web search sets them; readers of engines never do. */
  readonly citations?: readonly Citation[] | undefined;
}

/** One step of an answer. `choice` is the index among the `n` requested choices. */
export type AnswerEvent =
  | TextEvent
  | {
      readonly type: 'tool-start';
      readonly choice: number;
      /** Dense 0-based index among the calls of this choice. */
      readonly tool: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'tool-delta'; readonly choice: number; readonly tool: number; readonly text: string }
  /** Totals so far; a later one replaces an earlier one. `countedBy` names the counter of the least exact part. Absent: the engine counted everything. */
  | {
      readonly type: 'usage';
      readonly usage: Usage;
      readonly countedBy?: CountedBy | undefined;
      /** Counts that are estimates because the engine's cannot be true. The model's tokenizer may count them exactly. */
      readonly estimated?: { readonly prompt: boolean; readonly completion: boolean } | undefined;
    }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      /** The stop sequence at which the answer ended, if the engine reports it: one of the caller's or one of the model's. */
      readonly stopSequence?: string | undefined;
      /** Sealed state of the engine, for the caller to send back. Absent: there is none beyond the ids of the calls. */
      readonly sealedState?: string | undefined;
    }
  | VectorsEvent
  | {
      /** Scores of the documents from `first` on: 0 to 1, the same scale for all of them. */
      readonly type: 'ranks';
      /** There is one choice. */
      readonly choice: 0;
      readonly first: number;
      readonly scores: readonly number[];
    };

/** Vectors of the inputs from `first` on. */
export interface VectorsEvent {
  readonly type: 'vectors';
  readonly choice: 0;
  readonly first: number;
  readonly vectors: readonly HeldVector[];
}

/**
 * Float32 in little-endian order; or the engine's own JSON list, for a caller of numbers. A buffer of its own beside V8's heap, which
 * who has written it releases at once (`transfer`): strings that wait for so long stay for many more answers.
 */
export interface HeldVector {
  readonly form: 'float32' | 'numbers';
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type UsageEvent = Extract<AnswerEvent, { readonly type: 'usage' }>;

/**
 * A search that the service made in the middle of an answer. It is sent after the usage that counts its call. The
 * result of the search follows; other events may be in between.
 */
export type SearchEvent =
  | {
      readonly type: 'search-call';
      readonly choice: number;
      readonly id: string;
      /** JSON text of an object: the arguments that the model wrote, or `{}` if these were not an object. */
      readonly input: string;
    }
  | { readonly type: 'search-result'; readonly choice: number; readonly id: string; readonly result: SearchResult };

/** One step of an answer for its caller: the engine's events, and the searches that the service made. */
export type RelayedEvent = AnswerEvent | SearchEvent;

/** Whether an event carries output, so that relaying it commits the attempt. */
export function isOutput(event: AnswerEvent): boolean {
  return event.type !== 'usage';
}

/** The engine's own deltas in an event, about one token each. They replace a missing count. */
export function deltasOf(event: RelayedEvent): number {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return event.deltas;
    case 'tool-start':
    case 'tool-delta':
      return 1;
    // The words with which the model asked for the search were counted when it wrote them.
    case 'search-call':
    case 'search-result':
    case 'usage':
    case 'finish':
    case 'vectors':
    case 'ranks':
      return 0;
  }
}

/** Why an attempt failed. Callers never see these names. */
export const faultKinds = [
  'connect',
  'status',
  'content-type',
  'malformed',
  /** The answer is whole, but not in the requested form: no JSON, not valid by the schema, or no call where one was required. */
  'structure',
  /** The continuation does not begin where the answer broke off. */
  'disjoint',
  'engine-error',
  'truncated',
  'reset',
  'stalled',
  'too-large',
] as const;
type FaultKind = (typeof faultKinds)[number];

/**
 * The kinds of errors that engines report.
 * `context-length`: the prompt and the cap do not fit. `rate-limit`, `overloaded`: a later attempt may succeed.
 * `account`: the operator's key, balance or permission. `not-found`: no such model or path, so the operator's route is
 * wrong. `misconfigured`: the engine was started without what the request needs, or a proxy before it has answered.
 * `bad-request`: the engine does not accept the request in this form. `content-policy`: a provider refuses the prompt.
 */
export const engineErrors = [
  'context-length',
  'rate-limit',
  'overloaded',
  'account',
  'not-found',
  'misconfigured',
  'bad-request',
  'content-policy',
  'other',
] as const;
export type EngineError = (typeof engineErrors)[number];

/** The parts of an engine's error that are kept. */
export interface EngineErrorReading {
  readonly engineError: EngineError;
  /** The part of the request that the error names. Undefined if it names none. */
  readonly about?: Feature | undefined;
  /** The cause that the answer or Envoy's details name. Undefined: it follows from kind and status (`causeOf`). */
  readonly cause?: Cause | undefined;
  /** The field that the engine does not know, if the service chose it. */
  readonly refuses?: OwnField | undefined;
  /** The engine's own sentence for operators, on one line: `quoteError` has masked what it repeats of the request. */
  readonly said?: string | undefined;
}

/**
 * Why no route answered a request. The kind of an engine's error: all routes returned that error. `structure`: each
 * route answered, but no answer had the requested structure. `repeated-failure`: engines failed on the same prompt
 * shortly before, too. `disputed`: some routes found fault with the request, the others failed.
 */
export const refusalCauses = [...engineErrors, 'structure', 'repeated-failure', 'disputed'] as const;
export type RefusedFor = (typeof refusalCauses)[number];

/** `engineError` is set if the engine answered with an error. */
export interface Fault extends Partial<EngineErrorReading> {
  readonly kind: FaultKind;
  /** Safe to log: never holds content. */
  readonly detail: string;
  /** HTTP status of the engine's answer, if there was one. */
  readonly status?: number | undefined;
  /** Length of a vector that should have another one. */
  readonly vectorLength?: number | undefined;
  /** For how many whole seconds the engine asked to get no requests. */
  readonly retryAfterSeconds?: number;
}

/** The form of a fault in the ledger: its kind, and the HTTP status behind it. */
export function faultName({ kind, status }: Pick<Fault, 'kind' | 'status'>): string {
  return status === undefined ? kind : `${kind} ${status}`;
}

/** Whether the engine itself reports an internal failure. No proxy before it does, so the prompt may be the cause. */
export function isEngineFailure({ kind, engineError, status = 500 }: Fault): boolean {
  return (kind === 'status' || kind === 'engine-error') && engineError === 'other' && status === 500;
}

/** Errors that the same request gets again whenever it is sent to the same engine. */
export const ofTheRequest: ReadonlySet<EngineError | undefined> = new Set<EngineError>([
  'bad-request',
  'context-length',
  'content-policy',
]);

/** Whether a fault lies in the request, according to its route. */
export const isOfTheRequest = ({ kind, engineError }: Fault): boolean =>
  kind === 'structure' || ofTheRequest.has(engineError);

/** The result of reading one piece of an engine's answer. */
export interface ReadStep {
  readonly events: readonly AnswerEvent[];
  /** `open`: more is to come. `complete`: the answer is whole. Otherwise the attempt has failed. */
  readonly state: 'open' | 'complete' | Fault;
}

/** A synchronous machine: an engine's bytes in, events out. Never throws on what an engine sent. */
export interface ResponseReader {
  readonly push: (bytes: Uint8Array) => ReadStep;
  /** The engine ended its answer cleanly. */
  readonly end: () => ReadStep;
  /** The model name in the answer, if it is a plain name. Absent: no caller needs the name. */
  readonly model?: (() => string | undefined) | undefined;
}
