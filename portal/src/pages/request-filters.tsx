import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import { useAddress } from '../data/address.ts';
import { type Page, withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { useModels } from '../data/models.ts';
import { useMay } from '../data/rights.ts';
import { useWorkspaceChoices } from '../data/workspaces.ts';
import { type Option, optionsOf } from '../parts/fields.tsx';
import { Filters } from '../parts/filters.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { outcomes } from './outcomes.ts';

const outcomeOptions: readonly Option[] = [
  { value: 'settled', label: 'All but refused' },
  { value: 'error', label: 'Errors' },
  ...Object.entries(outcomes).map(([value, { word }]) => ({ value, label: word })),
];

/** The compiler finds a surface that is missing here. */
const surfaces: Readonly<Record<ListedRequestObject['surface'], true>> = {
  ...{ chat: true, messages: true, responses: true, embeddings: true, rerank: true },
};

/** The keys of a workspace that have the text in name, id or prefix, and the chosen one. */
function useKeyOptions(workspaceId: string | undefined, search: string, chosen: string | undefined): readonly Option[] {
  const path = withQuery(`/workspaces/${workspaceId ?? ''}/keys`, { search });
  const found = useRead<Page<KeyObject>>(['keys', workspaceId, 'choice', search], path, {
    enabled: workspaceId !== undefined && search !== '',
    placeholderData: keepPreviousData,
  });
  const own = useRead<KeyObject>(['keys', chosen], `/keys/${chosen ?? ''}`, { enabled: chosen !== undefined });
  const keys = [...(own.data === undefined ? [] : [own.data]), ...(search === '' ? [] : (found.data?.data ?? []))];
  const named = keys.map(({ id, name, prefix }): readonly [string, string] => [id, name ?? prefix ?? id]);
  return [...new Map(named)].map(([value, label]) => ({ value, label }));
}

/** What the list of requests is narrowed to. The address has the selection. */
export function RequestFilters() {
  const [{ workspace, key }] = useAddress();
  const [typed, setTyped] = useState('');
  const choices = useWorkspaceChoices();
  const may = useMay();
  const chosen =
    choices?.find(({ id, name }) => id === workspace || name === workspace) ??
    (choices?.length === 1 ? choices[0] : undefined);
  const models = useModels();
  const keys = useKeyOptions(chosen?.id, typed, key);
  return (
    <Filters
      label="Search requests"
      placeholder="Id, x-request-id, model, key, outcome"
      fields={[
        { name: 'search', label: 'Id' },
        { name: 'outcome', label: 'Outcome', options: outcomeOptions },
        { name: 'model', label: 'Model', options: optionsOf((models.data?.data ?? []).map(({ id }) => id)) },
        ...(may('keys:read') ? [{ name: 'key', label: 'Key', options: keys, isSearched: true } as const] : []),
        { name: 'surface', label: 'Surface', options: optionsOf(Object.keys(surfaces)) },
      ]}
      hasTime
      onType={setTyped}
    >
      <WorkspaceSelect all />
    </Filters>
  );
}
