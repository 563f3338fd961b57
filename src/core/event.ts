import type { Feature } from './capability.ts';
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
 * A piece of text, reasoning or refusal. `deltas` counts the engine's own deltas in it: pieces that arrived together
 * are one event, and the count still estimates tokens where nothing better is known.
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

/** One step of an answer. `choice` is the index among the `n` choices asked for. */
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
  | { readonly type: 'usage'; readonly usage: Usage; readonly countedBy?: CountedBy | undefined }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      /** The text that it stopped at, where the engine says so: one of the caller's, or one that belongs to the model. */
      readonly stopSequence?: string | undefined;
    };

/**
 * A search that the service made in the middle of an answer, sent after the usage that counts its call. Its result follows;
 * other events may stand between them.
 */
export type SearchEvent =
  | {
      readonly type: 'search-call';
      readonly choice: number;
      readonly id: string;
      /** JSON text of an object: what the model asked for, `{}` where that was no object. */
      readonly input: string;
    }
  | { readonly type: 'search-result'; readonly choice: number; readonly id: string; readonly result: SearchResult };

/** One step of an answer as its caller gets it: what engines say, and what the service did meanwhile. */
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
      return 0;
  }
}

/** Why an attempt is no good. Never shown to a caller as it is. */
export const faultKinds = [
  'connect',
  'status',
  'content-type',
  'malformed',
  /** Whole, but not of the form that was asked for: no JSON, not of its schema, no call where one was required. */
  'structure',
  /** It does not go on where the answer broke off. */
  'disjoint',
  'engine-error',
  'truncated',
  'reset',
  'stalled',
  'too-large',
] as const;
type FaultKind = (typeof faultKinds)[number];

/**
 * What an engine's own error says, in our words.
 * `context-length`: the prompt and the cap do not fit. `rate-limit`, `overloaded`: it passes. `account`: the operator's
 * key, balance or permission. `not-found`: no such model or path, so the operator's route is wrong. `bad-request`: the
 * engine does not take the request as it is. `content-policy`: a provider does not let the prompt through.
 */
export const engineErrors = [
  'context-length',
  'rate-limit',
  'overloaded',
  'account',
  'not-found',
  'bad-request',
  'content-policy',
  'other',
] as const;
export type EngineError = (typeof engineErrors)[number];

/** An engine's error, with all that is kept of it: its text may quote the prompt. */
export interface EngineErrorReading {
  readonly engineError: EngineError;
  /** The part of the request that it names, where it does. */
  readonly about?: Feature | undefined;
}

/**
 * Why no route answered a request: an engine's error that all routes gave alike; `structure`: each answered, and no answer
 * had the structure asked for; `repeated-failure`: engines failed on the same prompt shortly before, too; `disputed`: some
 * routes found fault with the request, the others failed.
 */
export const refusalCauses = [...engineErrors, 'structure', 'repeated-failure', 'disputed'] as const;
export type RefusedFor = (typeof refusalCauses)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Safe to log: never holds content. */
  readonly detail: string;
  /** Where the engine answered with an error. */
  readonly engineError?: EngineError;
  /** The part of the request that the engine's error names, where it does. */
  readonly about?: Feature | undefined;
  /** HTTP status of the engine, where there was one. */
  readonly status?: number | undefined;
  /** Whole seconds the engine asked us to stay away. */
  readonly retryAfterSeconds?: number;
}

/** Whether an engine says that it failed by itself, with nothing in front of it: a prompt may have brought it to that. */
export function isEngineFailure({ kind, engineError, status = 500 }: Fault): boolean {
  return (kind === 'status' || kind === 'engine-error') && engineError === 'other' && status === 500;
}

/** Errors that the same request gets again whenever it is sent to the same engine. */
export const ofTheRequest: ReadonlySet<EngineError | undefined> = new Set<EngineError>([
  'bad-request',
  'context-length',
  'content-policy',
]);

/** Whether a fault lies in the request, as far as its route knows. */
export const isOfTheRequest = ({ kind, engineError }: Fault): boolean =>
  kind === 'structure' || ofTheRequest.has(engineError);

/** What a reader made of one piece of an engine's answer. */
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
  /** The model name in the answer, if it is a plain name. Absent: it is not needed. */
  readonly model?: (() => string | undefined) | undefined;
}
