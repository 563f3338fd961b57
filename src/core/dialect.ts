import type { RelayedEvent } from './event.ts';
import type { Failure } from './failure.ts';
import type { Request } from './request.ts';
import type { Bill } from './money.ts';
import type { SearchSeal, TraceSeal } from './web-search.ts';

/** The surfaces that models of chat answer. */
export const chatSurfaces = ['chat', 'messages', 'responses'] as const;
export type ChatSurface = (typeof chatSurfaces)[number];

/**
 * The surfaces for callers: one wire format each, with the same accounts, models and prices (docs/reference/api.md §1).
 * The ledger stores the position, so a new surface goes to the end.
 */
export const surfaces = [...chatSurfaces, 'embeddings', 'rerank'] as const;
export type Surface = (typeof surfaces)[number];

export type KeyHeader = 'authorization' | 'x-api-key';

/** The fields that every piece of one answer has. */
export interface AnswerIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** Our model id. */
  readonly model: string;
}

/** The fields of a request that the writer of its answer needs. */
export type AskedAnswer = Pick<Request, 'includeUsage' | 'sampling' | 'callFormat' | 'traceForm'> &
  Pick<Request, 'maxOutputTokens' | 'reasoning' | 'responseFormat' | 'toolChoice' | 'task'>;

/** A synchronous machine: answer events in, server-sent events out. */
export interface StreamWriter {
  /** Server-sent events for these answer events; empty if they contain nothing for a caller. */
  readonly push: (events: readonly RelayedEvent[]) => string;
  /** Keeps the connection alive without content. May come before the first event. */
  readonly keepAlive: () => string;
  /** Writes the end of a complete answer. */
  readonly finish: (bill: Bill) => string;
  /** Writes the end of an interrupted answer, in a form that its client knows (docs/reference/api.md §7.3). */
  readonly fail: (failure: Failure) => string;
}

/** Assembles events into one JSON object. */
export interface JsonWriter {
  readonly push: (events: readonly RelayedEvent[]) => void;
  /** Writes the whole answer. */
  readonly finish: (bill: Bill) => string;
  /**
   * Writes a large answer in place of `finish`, piece by piece: each is made when it is taken, and what it was made of is released.
   * Undefined: the answer is small. Absent: all answers are.
   */
  readonly pieces?: (bill: Bill) => Iterable<string> | undefined;
}

/** A deployment's options for reading requests. */
export interface ReadOptions {
  /** Opens sealed search results. Absent: callers of this surface cannot send such results back. */
  readonly seal?: SearchSeal | undefined;
  /** Opens sealed reasoning. Absent: such reasoning is left out. */
  readonly traces?: TraceSeal | undefined;
  /** Keeps the accounting lines that clients write into the prompt. */
  readonly keepsBillingLines?: boolean | undefined;
  /** The prompt is only counted: the body needs no output cap. */
  readonly isCount?: boolean | undefined;
}

/** A deployment's options for writing answers. */
export interface WriteOptions {
  /** Seals reasoning for callers that ask for it. Absent: they get none sealed. */
  readonly traces?: TraceSeal | undefined;
}

/** A wire format towards callers: reads their requests and writes their answers. */
export interface Dialect {
  readonly surface: Surface;
  /** The beginnings of the ids that the service makes. */
  readonly idPrefixes: { readonly request: string; readonly toolCall: string };
  /** The headers in which its clients send the key, in the order in which they are searched. */
  readonly keyHeaders: readonly [KeyHeader, ...KeyHeader[]];
  /** Header in which its clients read the id of a request, besides `x-request-id`. */
  readonly requestIdHeader?: 'request-id';
  /** Reads a parsed body. Throws `invalid_request` with the path of the first field at fault, and the other refusals of its fields. */
  readonly readRequest: (body: unknown, options?: ReadOptions) => Request;
  readonly createStreamWriter: (identity: AnswerIdentity, asked: AskedAnswer, options?: WriteOptions) => StreamWriter;
  readonly createJsonWriter: (identity: AnswerIdentity, asked: AskedAnswer, options?: WriteOptions) => JsonWriter;
  /** Writes the envelope of a failure before the answer (docs/reference/api.md §2.5). */
  readonly writeError: (failure: Failure) => string;
}
