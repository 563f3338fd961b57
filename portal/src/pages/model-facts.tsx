import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { formatCount, formatShare, unknown } from '../format/format.ts';
import { modelState } from '../data/states.ts';
import { Badge, StateBadge } from '../parts/badge.tsx';
import { Facts } from '../parts/page.tsx';
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

/** What the table of models does not have. */
export function ModelFacts({ of: model }: { readonly of: ModelObject }) {
  const { reason, aliases, dimensions, availability } = model;
  return (
    <div className="stack">
      {reason !== null && <Notice tone={modelState(model).tone}>{reason}</Notice>}
      <Facts
        facts={[
          ...(aliases.length === 0 ? [] : [{ name: 'Also called', value: aliases.join(', ') }]),
          ...(dimensions === null ? [] : [{ name: 'Numbers of a vector', value: formatCount(dimensions) }]),
          { name: 'Reasoning', value: reasoningOf(model) },
          {
            name: 'Availability',
            value: availability === null ? 'too few requests yet' : formatShare(availability),
          },
        ]}
      />
    </div>
  );
}

function reasoningOf({ reasoning }: ModelObject): string {
  if (reasoning === null) return unknown;
  const { mode, efforts } = reasoning;
  if (mode === 'None') return 'No';
  const levels = efforts.length === 0 ? '' : `: ${efforts.join(', ')}`;
  return mode === 'Always' ? `Always${levels}` : `On request${levels}`;
}
