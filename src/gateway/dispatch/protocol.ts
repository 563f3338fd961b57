import type { Continuation, ContinuationMark } from '../../core/capability.ts';
import type { EngineErrorReading, ResponseReader } from '../../core/event.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { UpstreamCall } from '../core/upstream.ts';

/** Writes the calls of dispatch to engines and reads their answers. One protocol serves one call to a model. */
export interface EngineProtocol {
  /**
   * Writes the call to an endpoint of a route. With `continuation`, the call continues one choice. Returns a promise where a
   * worker writes the body. Throws, or rejects, when the request cannot be written.
   */
  readonly request: (
    planned: PlannedRoute,
    endpoint: Endpoint,
    continuation?: Continuation,
  ) => UpstreamCall | Promise<UpstreamCall>;
  /** Makes the reader of a successful answer. Undefined: the request did not ask for an answer of this content type. */
  readonly reader: (planned: PlannedRoute, answer: ExpectedAnswer) => ResponseReader | undefined;
  readonly errors: ErrorReader;
  readonly continuation: (planned: PlannedRoute) => ContinuationAbility;
}

export interface ExpectedAnswer {
  /** The content type that the engine declares. */
  readonly contentType: string;
  /** A header of the answer. */
  readonly header: (name: string) => string | undefined;
  /** How many choices the engine was asked for. */
  readonly choices: number;
  /** The answer continues in the middle of a text. */
  readonly answerBegun: boolean;
  /** A part of the answer may be removed, because it was delivered before: each delta stays an event. */
  readonly keepDeltas: boolean;
}

/** Reads an answer whose status is not 200. */
export interface ErrorReader {
  /** Whether the answer is an error, whose body can say more than its status does. */
  readonly needsBody: (status: number) => boolean;
  /** `asked`: the call, whose content must not be kept. */
  readonly read: (status: number, body: string, asked: UpstreamCall | undefined) => EngineErrorReading;
}

/** What a route can do with a partial answer. */
export interface ContinuationAbility {
  readonly mark: ContinuationMark;
  /** Whether the route also continues reasoning. */
  readonly reasoning: boolean;
}
