import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { formatCount, formatDecimal, formatMs, formatPricePerMillion, formatShare, unknown } from '../format/format.ts';
import { modelState } from '../data/states.ts';
import { Badge, StateBadge } from '../parts/badge.tsx';
import { type Fact, Facts } from '../parts/page.tsx';
import { Notice } from '../parts/states.tsx';

export const kindNames = { chat: 'Chat', embedding: 'Embedding', rerank: 'Rerank' } as const;
export const modalityNames = { text: 'Text', image: 'Images' } as const;

/** Whether a model can be called. */
export function ModelState({ of }: { readonly of: ModelObject }) {
  return (
    <span className="chips">
      {!of.listed && <Badge tone="none">Not listed</Badge>}
      <StateBadge of={modelState(of)} />
    </span>
  );
}

/** Prices, limits and current speed of a model, and why it is not available. */
export function ModelFacts({ of: model }: { readonly of: ModelObject }) {
  const { tone } = modelState(model);
  return (
    <>
      {model.reason !== null && (
        <div className="models-state">
          <Notice tone={tone}>
            <p>{model.reason}</p>
          </Notice>
        </div>
      )}
      <Facts
        facts={[
          ...(model.aliases.length === 0 ? [] : [{ name: 'Also called', value: model.aliases.join(', ') }]),
          ...kindOf(model),
          ...prices(model),
          {
            name: 'Context',
            value: model.context_length === null ? unknown : `${formatCount(model.context_length)} tokens`,
          },
          { name: 'Takes', value: model.input_modalities.map((modality) => modalityNames[modality]).join(', ') },
          { name: 'Reasoning', value: reasoningOf(model) },
          { name: 'Time to first token', value: measured(model.first_token_ms_p50, formatMs) },
          { name: 'Output tokens a second', value: measured(model.tokens_per_second_p50, formatDecimal) },
          { name: 'Availability', value: measured(model.availability, formatShare) },
        ]}
      />
    </>
  );
}

/** A figure that has a value only after some requests. */
const measured = (value: number | null, format: (value: number) => string): string =>
  value === null ? 'too few requests yet' : format(value);

/** What a model makes, if it does not answer in words. */
function kindOf({ kind, dimensions }: ModelObject): readonly Fact[] {
  switch (kind) {
    case 'chat':
      return [];
    case 'embedding':
      return [
        { name: 'Makes', value: `embeddings of ${dimensions === null ? unknown : formatCount(dimensions)} numbers` },
      ];
    case 'rerank':
      return [{ name: 'Makes', value: 'an order of documents' }];
  }
}

/** USD per million tokens. A model without a route has no prices. */
function prices({ pricing }: ModelObject): readonly Fact[] {
  if (pricing === null) return [];
  return [
    { name: 'Prompt, per million tokens', value: formatPricePerMillion(pricing.prompt) },
    { name: 'from the cache', value: formatPricePerMillion(pricing.input_cache_read) },
    { name: 'Output, per million tokens', value: formatPricePerMillion(pricing.completion) },
  ];
}

function reasoningOf({ reasoning }: ModelObject): string {
  if (reasoning === null) return unknown;
  const { mode, efforts } = reasoning;
  if (mode === 'None') return 'No';
  const levels = efforts.length === 0 ? '' : `: ${efforts.join(', ')}`;
  return mode === 'Always' ? `Always${levels}` : `On request${levels}`;
}
