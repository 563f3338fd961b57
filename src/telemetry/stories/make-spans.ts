import { isCounted } from '../../core/account.ts';
import type { AnswerFacts } from '../../gateway/core/telemetry.ts';
import { formatUsd, type Usage } from '../../core/money.ts';
import type { AttributeValue, EndedSpan, RequestTrace } from '../../core/trace.ts';
import type { AttemptNote, RequestRecord, SearchNote } from '../core/request-record.ts';

type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** What the spans of one request share: their trace, and the conversion of monotonic moments to wall-clock ones. */
interface Frame {
  readonly record: RequestRecord;
  readonly trace: RequestTrace;
  /** When the request was over, monotonic. */
  readonly overAt: number;
}

/**
 * The spans of a request that has ended, made from its record: one for the request, and under it one for each stage
 * that takes time, for each attempt, for each search and for the commit. Names follow the conventions for generative
 * AI. https://github.com/open-telemetry/semantic-conventions-genai
 */
export function spansOf(record: RequestRecord, trace: RequestTrace): readonly EndedSpan[] {
  const frame: Frame = { record, trace, overAt: record.overAt ?? record.begun };
  return [
    requestSpan(frame),
    ...stageSpans(frame),
    ...record.attempts.flatMap((note) => attemptSpan(frame, note)),
    ...record.searches.flatMap((note) => searchSpan(frame, note)),
    ...settlementSpans(frame),
  ];
}

interface SpanParts {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly kind?: EndedSpan['kind'];
  readonly spanId?: string;
  /** Default: the span of the request. */
  readonly parentId?: string | undefined;
  readonly isError?: boolean;
  readonly attributes?: Attributes;
}

/** A span, by default under the span of the request. `from` and `to` are monotonic. */
function span({ record, trace }: Frame, parts: SpanParts): EndedSpan {
  const { name, from, to, kind = 'internal', isError = false, attributes = {} } = parts;
  const wall = record.startedAt - record.begun;
  return {
    traceId: trace.place.traceId,
    spanId: parts.spanId ?? trace.child().spanId,
    parentId: 'parentId' in parts ? parts.parentId : trace.place.spanId,
    name,
    kind,
    isError,
    attributes,
    madeBy: 'weir',
    startedAt: wall + from,
    endedAt: wall + Math.max(from, to),
  };
}

function requestSpan(frame: Frame): EndedSpan {
  const { record, trace, overAt } = frame;
  const { outcome, failure, modelId } = record;
  const hasFailed = outcome !== undefined && outcome.kind !== 'completed' && outcome.kind !== 'cancelled';
  return span(frame, {
    name: nameOf(modelId),
    kind: 'server',
    spanId: trace.place.spanId,
    parentId: trace.parentId,
    from: record.begun,
    to: overAt,
    isError: hasFailed || isOurs(record),
    attributes: {
      ...conventional('weir', modelId),
      'gen_ai.request.stream': record.stream,
      'gen_ai.response.id': record.requestId,
      'gen_ai.response.time_to_first_chunk': seconds(outcome?.firstTokenMs),
      ...(outcome === undefined ? {} : usageAttributes(outcome.usage)),
      'error.type': failure?.code ?? (hasFailed ? outcome.kind : undefined),
      'weir.surface': record.surface,
      'weir.outcome': outcome?.kind ?? (failure === undefined ? 'cancelled' : 'refused'),
      'weir.correlation_id': record.correlationId === '' ? undefined : record.correlationId,
      'weir.workspace.id': record.workspaceId,
      'weir.key.id': record.keyId,
      'weir.route': outcome?.routeId,
      'weir.attempts': outcome === undefined ? undefined : record.attemptCount,
      'weir.cost_usd': outcome === undefined ? undefined : Number(formatUsd(outcome.cost)),
      'weir.counted_by': outcome !== undefined && isCounted(outcome) ? outcome.countedBy : undefined,
    },
  });
}

/** The stages before the dispatch that the request has reached. The last one may have failed. */
function stageSpans(frame: Frame): readonly EndedSpan[] {
  const { record, overAt } = frame;
  const stages = [
    ['admission', record.admittedAt],
    ['receive body', record.arrivedAt],
    ['read body', record.readAt],
    ['plan', record.dispatchedAt],
  ] as const;
  const spans: EndedSpan[] = [];
  let from = record.begun;
  for (const [name, end] of stages) {
    const code = end === undefined ? record.failure?.code : undefined;
    const isError = end === undefined && isOurs(record);
    spans.push(span(frame, { name, from, to: end ?? overAt, isError, attributes: { 'error.type': code } }));
    if (end === undefined) break;
    from = end;
  }
  return spans;
}

/** The span of the bill, which includes counting tokens, and under it the span of the commit of its row. */
function settlementSpans(frame: Frame): readonly EndedSpan[] {
  const { record, overAt } = frame;
  const { answeredAt, settledAt, recordedAt } = record;
  if (answeredAt === undefined || settledAt === undefined) return [];
  const to = recordedAt ?? overAt;
  const isError = recordedAt === undefined;
  const settle = span(frame, { name: 'settle', from: answeredAt, to, isError });
  return [settle, span(frame, { name: 'commit', parentId: settle.spanId, from: settledAt, to, isError })];
}

function attemptSpan(frame: Frame, note: AttemptNote): readonly EndedSpan[] {
  const { spanId, fault, facts, outputAt, beganAt, picked } = note;
  if (spanId === undefined) return [];
  return [
    span(frame, {
      name: nameOf(note.upstreamModel),
      kind: 'client',
      spanId,
      isError: fault !== undefined,
      from: beganAt,
      to: note.endedAt ?? frame.overAt,
      attributes: {
        ...conventional(note.engine, note.upstreamModel),
        'gen_ai.request.stream': frame.record.stream,
        'gen_ai.response.time_to_first_chunk': outputAt === undefined ? undefined : seconds(outputAt - beganAt),
        ...answerAttributes(facts),
        ...addressOf(note.endpoint),
        'error.type': fault?.kind,
        'http.response.status_code': fault?.status,
        'weir.fault.engine_error': fault?.engineError,
        'weir.route': note.routeId,
        'weir.backend': note.backend,
        'weir.attempt.reason': note.reason,
        'weir.attempt.step': note.step,
        'weir.attempt.end': note.end,
        'weir.endpoint.pick': picked?.why,
        'weir.endpoint.held_tokens': picked && Math.round(picked.heldTokens),
        'weir.endpoint.expected_first_token': seconds(picked?.firstMs),
      },
    }),
  ];
}

function searchSpan(frame: Frame, { spanId, provider, result, durationMs, endedAt }: SearchNote): readonly EndedSpan[] {
  if (spanId === undefined) return [];
  const isFound = result === 'found';
  return [
    span(frame, {
      name: 'search the web',
      kind: 'client',
      spanId,
      from: endedAt - durationMs,
      to: endedAt,
      isError: result === 'unavailable',
      attributes: { 'weir.search.provider': provider, 'error.type': isFound ? undefined : result },
    }),
  ];
}

const nameOf = (model: string | undefined): string => (model === undefined ? 'chat' : `chat ${model}`);

/** Whether the service is to blame for the error that the caller got. */
const isOurs = ({ failure }: RequestRecord): boolean => failure?.row.blame === 'service';

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

const conventional = (provider: string, model: string | undefined): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': provider,
  'gen_ai.request.model': model,
});

function answerAttributes(facts: AnswerFacts | undefined): Attributes {
  if (facts === undefined) return {};
  const { model, usage, finishReasons } = facts;
  return {
    'gen_ai.response.model': model,
    ...(usage === undefined ? {} : usageAttributes(usage)),
    'gen_ai.response.finish_reasons': finishReasons.length === 0 ? undefined : finishReasons,
  };
}

const usageAttributes = (usage: Usage): Attributes => ({
  'gen_ai.usage.input_tokens': usage.promptTokens,
  'gen_ai.usage.output_tokens': usage.completionTokens,
  'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
  'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
});

/** `Endpoint.name` is `address:port`. */
function addressOf(endpoint: string): Attributes {
  const [, address, port] = /^\[?(.+?)\]?:(\d+)$/.exec(endpoint) ?? [];
  return { 'server.address': address ?? endpoint, 'server.port': port === undefined ? undefined : Number(port) };
}
