import { useQuery } from '@tanstack/react-query';
import type { ModelListObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { call } from '../data/api.ts';
import { useMay } from '../data/rights.ts';
import { useWorkspaceChoices } from '../data/workspaces.ts';
import { CommittedField } from '../parts/committed-field.tsx';
import { Select } from '../parts/fields.tsx';
import { TimeFields } from '../parts/time-fields.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { KeyChoice } from './key-choice.tsx';
import { outcomes } from './outcomes.ts';

/** What the list of requests is narrowed to. The address has the selection. */
export function RequestFilters() {
  const [{ workspace, key, model, outcome, search }, change] = useAddress();
  const choices = useWorkspaceChoices();
  const may = useMay();
  const chosen = choices?.find(({ id, name }) => id === workspace || name === workspace) ?? onlyOne(choices);
  const models = useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models') });
  const modelIds = (models.data?.data ?? []).map(({ id }) => id);
  return (
    <div className="filters">
      <CommittedField
        label="Request id or x-request-id"
        type="search"
        value={search ?? ''}
        onCommit={(text) => change({ search: text })}
      />
      <WorkspaceSelect all />
      {chosen !== undefined && may('keys:read') && (
        <KeyChoice key={chosen.id} workspaceId={chosen.id} chosen={key} onChange={(id) => change({ key: id })} />
      )}
      <Select
        label="Model"
        value={model ?? ''}
        onChange={(value) => change({ model: value })}
        options={withChosen(
          [{ value: '', label: 'All models' }, ...modelIds.map((id) => ({ value: id, label: id }))],
          model,
        )}
      />
      <Select
        label="Outcome"
        value={outcome ?? ''}
        onChange={(value) => change({ outcome: value })}
        options={[
          { value: '', label: 'All outcomes' },
          { value: 'settled', label: 'All but refused' },
          { value: 'error', label: 'Errors' },
          ...Object.entries(outcomes).map(([value, { word }]) => ({ value, label: word })),
        ]}
      />
      <TimeFields />
    </div>
  );
}

function onlyOne<Item>(items: readonly Item[] | undefined): Item | undefined {
  return items?.length === 1 ? items[0] : undefined;
}

/** Keeps the selection of the address as a choice, also if its model has left the catalog. */
function withChosen(
  options: readonly { readonly value: string; readonly label: string }[],
  chosen: string | undefined,
) {
  return chosen === undefined || options.some(({ value }) => value === chosen)
    ? options
    : [...options, { value: chosen, label: chosen }];
}
