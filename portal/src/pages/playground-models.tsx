import { useState } from 'react';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { useModels } from '../data/models.ts';
import { Select } from '../parts/fields.tsx';

interface ChosenModels {
  /** One or two ids. Empty while the catalog loads. */
  readonly chosen: readonly string[];
  /** The chosen models that are in the catalog. */
  readonly known: readonly ModelObject[];
  readonly offered: readonly string[];
  readonly error: Error | null;
}

/** The models that the address names. Without one, the first of the catalog. */
export function useChosenModels(): ChosenModels {
  const models = useModels();
  const [{ model: wanted, with: other }] = useAddress();
  const data = models.data?.data ?? [];
  const ids = data.filter(({ listed, kind }) => listed && kind === 'chat').map(({ id }) => id);
  // The selected model stays selected when it leaves the list: a question must not go to another model, at another price.
  const [usual, setUsual] = useState<string>();
  if (usual === undefined && ids[0] !== undefined) setUsual(ids[0]);
  const model = wanted ?? usual;
  const chosen = model === undefined ? [] : other === undefined || other === model ? [model] : [model, other];
  return {
    chosen,
    known: data.filter(({ id }) => chosen.includes(id)),
    offered: [...ids, ...chosen.filter((id) => !ids.includes(id))],
    error: models.error,
  };
}

/** Selects one model, and another one that answers beside it. */
export function ModelSelects({ chosen: [model, other], offered }: Pick<ChosenModels, 'chosen' | 'offered'>) {
  const [, change] = useAddress();
  const options = offered.map((id) => ({ value: id, label: id }));
  return (
    <>
      <Select label="Model" value={model ?? ''} onChange={(id) => change({ model: id })} options={options} />
      <Select
        label="Beside it"
        value={other ?? ''}
        onChange={(id) => change({ with: id })}
        options={[{ value: '', label: 'No other model' }, ...options.filter(({ value }) => value !== model)]}
      />
    </>
  );
}
