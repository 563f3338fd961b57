import { useState } from 'react';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { useModels } from '../data/models.ts';
import { optionsOf, Select } from '../parts/fields.tsx';

export interface ChosenModels {
  /** One or two ids. Empty while the catalog loads. */
  readonly chosen: readonly string[];
  /** The chosen models that are in the catalog. */
  readonly known: readonly ModelObject[];
  readonly offered: readonly string[];
  /** Those of them that can answer beside another one. Empty for a model that makes vectors. */
  readonly others: readonly string[];
  readonly error: Error | null;
}

/** The models that the address names. Without one, the first of the catalog. */
export function useChosenModels(): ChosenModels {
  const models = useModels();
  const [{ model: wanted, with: other }] = useAddress();
  const data = models.data?.data ?? [];
  const idsOf = (kind: ModelObject['kind']): readonly string[] =>
    data.filter((model) => model.listed && model.kind === kind).map(({ id }) => id);
  const ids = [...idsOf('chat'), ...idsOf('embedding')];
  // The selected model stays selected when it leaves the list: a question must not go to another model, at another price.
  const [usual, setUsual] = useState<string>();
  if (usual === undefined && ids[0] !== undefined) setUsual(ids[0]);
  const model = wanted ?? usual;
  const isOfVectors = makesVectors(data.find(({ id }) => id === model));
  const isAlone = other === undefined || other === model || isOfVectors;
  const chosen = model === undefined ? [] : isAlone ? [model] : [model, other];
  return {
    chosen,
    known: data.filter(({ id }) => chosen.includes(id)),
    offered: [...ids, ...chosen.filter((id) => !ids.includes(id))],
    others: isOfVectors ? [] : idsOf('chat').filter((id) => id !== model),
    error: models.error,
  };
}

/** Whether the answers of a model are vectors and no words. */
export const makesVectors = (model: ModelObject | undefined): boolean => model?.kind === 'embedding';

/** Selects one model, and another one that answers beside it. */
export function ModelSelects({ of: { chosen, offered, others } }: { readonly of: ChosenModels }) {
  const [, change] = useAddress();
  const [model, other] = chosen;
  // A selected model stays in the list when it leaves the catalog.
  const beside = other === undefined || others.includes(other) ? others : [...others, other];
  return (
    <>
      <Select label="Model" value={model ?? ''} onChange={(id) => change({ model: id })} options={optionsOf(offered)} />
      {beside.length > 0 && (
        <Select
          label="Beside it"
          value={other ?? ''}
          onChange={(id) => change({ with: id })}
          options={[{ value: '', label: 'No other model' }, ...optionsOf(beside)]}
        />
      )}
    </>
  );
}
