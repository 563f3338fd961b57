import type { Surface } from './dialect.ts';
import type { FailureCode } from './failure.ts';
import type { ReachedLimit, RefusingLimit } from './refusing-limit.ts';

/** A request that was refused before anything was dispatched: ids, names and times; never content. */
export interface RefusedRequest {
  readonly requestId: string;
  readonly correlationId: string;
  /** Undefined: no key was accepted. */
  readonly workspaceId: string | undefined;
  readonly keyId: string | undefined;
  /** A model of the catalog, or the name that the caller gave instead. Undefined: it was not read, or is no plain name. */
  readonly modelId: string | undefined;
  readonly surface: Surface;
  readonly stream: boolean | undefined;
  readonly code: FailureCode;
  /** The parts of the request that the refusal is about. */
  readonly about: readonly string[];
  /** The limit that refused it. Undefined: no limit did, or an older version wrote the row. */
  readonly limit: RefusingLimit | undefined;
  /** As in `Failure`. */
  readonly reached?: readonly ReachedLimit[] | undefined;
  readonly startedAt: number;
  readonly durationMs: number;
}

/** A refused request in the books, with the number of the requests that were refused like it in its minute. */
export interface CountedRefusal extends RefusedRequest {
  /** Requests of the same key, model and code in the same minute, this one included. */
  readonly count: number;
}
