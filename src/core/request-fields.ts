import type { Outcome } from './account.ts';
import { formatUsd, type Money } from './money.ts';

/** A request of the ledger with the name of its workspace. */
export interface NamedRequest {
  readonly outcome: Outcome;
  readonly workspace: string;
}

/** A field of a request, and how it is read: null where a count or time was never known, which is not zero. */
export type RequestField =
  | Field<'text', string | null>
  | Field<'flag', boolean>
  | Field<'count', number | null>
  | Field<'money', Money>
  /** Milliseconds since the Unix epoch. */
  | Field<'moment', number>;

interface Field<Kind extends string, Value> {
  readonly name: string;
  readonly kind: Kind;
  readonly read: (request: NamedRequest) => Value;
}

/** What `weir usage --requests` and `weir ledger export` tell of a request, in the order in which they do. */
export const requestFields: readonly RequestField[] = [
  { name: 'id', kind: 'text', read: ({ outcome }) => outcome.requestId },
  { name: 'correlation_id', kind: 'text', read: ({ outcome }) => outcome.correlationId },
  { name: 'workspace', kind: 'text', read: ({ workspace }) => workspace },
  { name: 'key', kind: 'text', read: ({ outcome }) => outcome.keyId },
  { name: 'model', kind: 'text', read: ({ outcome }) => outcome.modelId },
  { name: 'route', kind: 'text', read: ({ outcome }) => outcome.routeId ?? null },
  { name: 'surface', kind: 'text', read: ({ outcome }) => outcome.surface },
  { name: 'stream', kind: 'flag', read: ({ outcome }) => outcome.stream },
  { name: 'outcome', kind: 'text', read: ({ outcome }) => outcome.kind },
  { name: 'prompt_tokens', kind: 'count', read: ({ outcome }) => outcome.usage.promptTokens },
  { name: 'completion_tokens', kind: 'count', read: ({ outcome }) => outcome.usage.completionTokens },
  { name: 'cached_tokens', kind: 'count', read: ({ outcome }) => outcome.usage.cachedTokens ?? null },
  { name: 'reasoning_tokens', kind: 'count', read: ({ outcome }) => outcome.usage.reasoningTokens ?? null },
  { name: 'estimated', kind: 'flag', read: ({ outcome }) => outcome.countedBy === 'estimate' },
  { name: 'counted_by', kind: 'text', read: ({ outcome }) => outcome.countedBy },
  { name: 'web_searches', kind: 'count', read: ({ outcome }) => outcome.usage.webSearches ?? null },
  { name: 'cost', kind: 'money', read: ({ outcome }) => outcome.cost },
  { name: 'attempts', kind: 'count', read: ({ outcome }) => outcome.attempts },
  { name: 'routes', kind: 'count', read: ({ outcome }) => outcome.routes ?? null },
  { name: 'started_at', kind: 'moment', read: ({ outcome }) => outcome.startedAt },
  { name: 'first_token_ms', kind: 'count', read: ({ outcome }) => outcome.firstTokenMs ?? null },
  { name: 'duration_ms', kind: 'count', read: ({ outcome }) => outcome.durationMs },
];

/** A field as JSON and CSV have it: an amount as a decimal string in USD, a moment in ISO 8601 in UTC. */
export function plainValue(field: RequestField, request: NamedRequest): string | number | boolean | null {
  switch (field.kind) {
    case 'money':
      return formatUsd(field.read(request));
    case 'moment':
      return new Date(field.read(request)).toISOString();
    case 'text':
    case 'flag':
    case 'count':
      return field.read(request);
  }
}
