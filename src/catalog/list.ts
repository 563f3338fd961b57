import type { Model, Snapshot } from '../core/catalog.ts';
import { formatUsd } from '../core/money.ts';

/** What was measured of a model lately. Service specification §2.1. */
export interface ModelPerformance {
  /** Median of delivered output tokens per second. */
  readonly tokensPerSecondP50: number;
  /** Median time to first token; absent when nobody measured it. */
  readonly firstTokenMsP50?: number;
  /** When it was measured, Unix seconds. */
  readonly asOf: number;
}

/** Not a date: strict clients want the field, and it must not move (service specification §2.1). */
const created = 1_700_000_000;

/**
 * The body of `GET /v1/models` as JSON text, models in the order of their ids. Render it once per snapshot.
 * Only fresh performance figures belong in the argument: a model without one shows none.
 */
export function renderModelList(
  snapshot: Snapshot,
  performance: ReadonlyMap<string, ModelPerformance> = new Map(),
): string {
  const models = [...snapshot.models.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const data = models.map((model) => entry(model, performance.get(model.id)));
  return JSON.stringify({ object: 'list', data });
}

function entry(model: Model, performance: ModelPerformance | undefined): object {
  return {
    id: model.id,
    object: 'model',
    owned_by: model.ownedBy,
    created,
    added: model.added,
    context_length: model.contextLength,
    input_modalities: model.inputModalities,
    pricing: {
      prompt: formatUsd(model.prices.prompt),
      completion: formatUsd(model.prices.completion),
      input_cache_read: formatUsd(model.prices.inputCacheRead),
    },
    ...(performance && {
      performance: {
        tps_p50: performance.tokensPerSecondP50,
        ...(performance.firstTokenMsP50 !== undefined && { ttft_p50_ms: performance.firstTokenMsP50 }),
        as_of: performance.asOf,
      },
    }),
  };
}
