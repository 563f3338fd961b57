import type { Model, ModelList, Snapshot } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { allowsModel } from '../../core/model-patterns.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import type { PerformanceFigure, ModelStatus } from '../../core/observed-catalog.ts';

interface ModelListOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly snapshot: () => Snapshot;
  readonly statusOf: (model: Model) => ModelStatus;
  /** The price of a web search; undefined if there is no web search. */
  readonly searchPrice?: Money | undefined;
}

/** A constant: strict clients want a date in this field, and it must not change (docs/reference/api.md §2.1). */
const created = 1_700_000_000;

/** The figures change with every answer. Callers without a key may ask for the list, so it is made at most once a second. */
const renderIntervalMs = 1000;

/** The part of an entry that stays the same as long as the snapshot does. */
interface Entry {
  readonly model: Model;
  /** As JSON, without performance and without its closing brace. */
  readonly head: string;
}

/**
 * The list of models as JSON text: the listed models in the order of their ids, or only those listed models that a key may
 * call. A model's status decides whether it is listed. Its price does not, because the compiler accepts
 * no model without prices.
 *
 * The text is made on request: at once after a change of the catalog, otherwise at most once a second. The list of a
 * key is made of the same entries.
 */
export function createModelList(options: ModelListOptions): ModelList {
  const { clock, snapshot, statusOf, searchPrice } = options;
  let of: Snapshot | undefined;
  let entries: readonly Entry[] = [];
  let renderedAt = 0;
  let listed: readonly ListedModel[] = [];
  let text = '';

  function render(): void {
    const current = snapshot();
    const now = clock.elapsed();
    if (current === of && now - renderedAt < renderIntervalMs) return;
    if (current !== of) entries = entriesOf(current, searchPrice);
    of = current;
    renderedAt = now;
    listed = entries.flatMap(({ model, head }) => {
      const { listed: isListed, figure } = statusOf(model);
      const performance = figure === undefined ? '' : `,"performance":${performanceText(figure)}`;
      return isListed ? [{ id: model.id, text: `${head}${performance}}` }] : [];
    });
    text = listText(listed);
  }

  return {
    modelList: (models) => {
      render();
      return models === undefined ? text : listText(listed.filter(({ id }) => allowsModel(models, id)));
    },
    modelEntry: (id, models) => {
      render();
      return allowsModel(models, id) ? listed.find((one) => one.id === id)?.text : undefined;
    },
  };
}

/** A model of the list, its entry as JSON. */
interface ListedModel {
  readonly id: string;
  readonly text: string;
}

function listText(listed: readonly ListedModel[]): string {
  return `{"object":"list","data":[${listed.map((model) => model.text).join(',')}]}`;
}

function entriesOf({ models }: Snapshot, searchPrice: Money | undefined): readonly Entry[] {
  return [...models.values()]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((model) => ({ model, head: JSON.stringify(fieldsOf(model, searchPrice)).slice(0, -1) }));
}

function fieldsOf(model: Model, searchPrice: Money | undefined): object {
  return {
    id: model.id,
    object: 'model',
    owned_by: model.ownedBy,
    created,
    added: model.added,
    ...kindFields(model),
    context_length: model.contextLength,
    input_modalities: model.inputModalities,
    pricing: {
      prompt: formatUsd(model.prices.prompt),
      completion: formatUsd(model.prices.completion),
      input_cache_read: formatUsd(model.prices.inputCacheRead),
      ...(searchPrice === undefined ? {} : { web_search: formatUsd(searchPrice) }),
    },
  };
}

/** Entries of chat models have no field about their kind. */
function kindFields({ kind, embedding }: Model): object {
  if (kind === undefined || kind === 'chat') return {};
  if (embedding === undefined) return { kind };
  const { dimensions, shorterDimensions } = embedding;
  return { kind, dimensions, ...(shorterDimensions.length > 0 && { shorter_dimensions: shorterDimensions }) };
}

function performanceText({ tokensPerSecondP50, firstTokenMsP50, asOf }: PerformanceFigure): string {
  return JSON.stringify({
    tps_p50: Math.round(tokensPerSecondP50 * 10) / 10,
    ...(firstTokenMsP50 !== undefined && { ttft_p50_ms: Math.round(firstTokenMsP50) }),
    as_of: asOf,
  });
}
