/**
 * Where a request stands in a distributed trace, in the terms of W3C Trace Context.
 * https://www.w3.org/TR/trace-context/
 */

/** A span, as the header `traceparent` names it. */
interface SpanPlace {
  /** 32 lowercase hex digits, not all of them zero. */
  readonly traceId: string;
  /** 16 lowercase hex digits, not all of them zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

export interface RequestTrace {
  /** The span of the request itself. If the trace is not sampled, the span that would be its parent. */
  readonly place: SpanPlace;
  /** Id of the parent of the request's span. Undefined: the trace begins with the request. */
  readonly parentId: string | undefined;
  /** Makes the place of a new child span of the request. If the trace is not sampled, returns `place` each time. */
  readonly child: () => SpanPlace;
}

/** Which traces are recorded, according to OTEL_TRACES_SAMPLER. */
export interface TraceSampling {
  /** Whether a caller's decision about its own trace also applies here. */
  readonly followsCaller: boolean;
  /** Share of the other traces, from 0 to 1. */
  readonly ratio: number;
}

export type AttributeValue = string | number | boolean | readonly string[];

/** A span that has ended. Counts, ids, names and times; never content. */
export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined: the trace begins with this span. */
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Wall clock, milliseconds since the Unix epoch, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly isError: boolean;
  /** Undefined attributes are left out. */
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>;
  /** The program that made it. */
  readonly madeBy: 'weir' | 'envoy';
}

/** Version 00, and the part of later versions that has the same format. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a header `traceparent`. Undefined when it is not well-formed. */
export function readTraceparent(text: string): SpanPlace | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = traceparent.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
