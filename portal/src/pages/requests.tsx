import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ModelListObject } from '../../../src/portal/api/catalog.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { RequestObject } from '../../../src/portal/api/requests.ts';
import { useAddress } from '../data/address.ts';
import { call, withQuery } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { useList } from '../data/load-more.ts';
import { useThrottled } from '../data/throttled.ts';
import { useAskedWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { formatCount, formatMoney, formatMs, formatRecent, unknown } from '../format/format.ts';
import { Badge } from '../parts/badge.tsx';
import { Select } from '../parts/fields.tsx';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { outcomes } from './outcomes.ts';
import { RequestDialog } from './request-dialog.tsx';

/** Most live requests that the page keeps. */
const mostLive = 200;
const showMs = 500;

/** Requests as they end, newest first. A request opens as a time line of its attempts. */
export function RequestsPage() {
  const [{ key, model, outcome, request: opened }, change] = useAddress();
  const workspace = useAskedWorkspace();
  const query = { workspace: workspace ?? undefined, key, model, outcome };
  const isWanted = useWanted(query);
  const [live, setLive] = useState<readonly RequestObject[]>([]);
  const list = useList<RequestObject>({
    queryKey: ['requests'],
    path: '/requests',
    query,
    enabled: workspace !== null,
  });
  // Many may end at once, and each one renders the whole table again.
  const ended = useRef<RequestObject[]>([]);
  const show = useThrottled(showMs, () => {
    const newer = ended.current.splice(0).toReversed();
    const ids = new Set(newer.map(({ id }) => id));
    setLive((before) => [...newer, ...before.filter(({ id }) => !ids.has(id))].slice(0, mostLive));
  });
  useEvents({
    request: (request) => {
      ended.current.push(request);
      show();
    },
  });
  return (
    <Page title="Requests" about="As they end. Their content is not stored.">
      <Filters />
      <Loaded query={list} lines={10}>
        {(stored) => {
          const rows = merged(live.filter(isWanted), stored);
          return rows.length === 0 ? (
            <Empty title="No requests">
              <p>Requests appear here as soon as they end.</p>
            </Empty>
          ) : (
            <Table
              label="Requests"
              columns={columns}
              rows={rows}
              rowKey={({ id }) => id}
              isSelected={({ id }) => id === opened}
            />
          );
        }}
      </Loaded>
      <More list={list} />
      {opened !== undefined && <RequestDialog id={opened} onClose={() => change({ request: undefined })} />}
    </Page>
  );
}

type Filter = Readonly<Record<'workspace' | 'key' | 'model' | 'outcome', string | undefined>>;

/** Whether a request matches the filters. */
function useWanted({ workspace, key, model, outcome }: Filter): (request: RequestObject) => boolean {
  const choices = useWorkspaceChoices();
  const name = choices?.find(({ id }) => id === workspace)?.name ?? workspace;
  return (request) =>
    (name === undefined || request.workspace === name) &&
    (key === undefined || request.key === key) &&
    (model === undefined || request.model === model) &&
    (outcome === undefined || request.outcome === outcome);
}

/** Merges both lists, newest first, each request once. */
function merged(live: readonly RequestObject[], stored: readonly RequestObject[]): readonly RequestObject[] {
  if (live.length === 0) return stored;
  const known = new Set(live.map(({ id }) => id));
  const all = [...live, ...stored.filter(({ id }) => !known.has(id))];
  return all.toSorted((one, other) => other.started_at.localeCompare(one.started_at));
}

function Filters() {
  const [{ workspace, key, model, outcome }, change] = useAddress();
  const choices = useWorkspaceChoices();
  const chosen = choices?.find(({ id, name }) => id === workspace || name === workspace) ?? onlyOne(choices);
  const models = useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models') });
  const path = `/workspaces/${chosen?.id ?? ''}/keys`;
  const keys = useList<KeyObject>({ queryKey: ['keys', chosen?.id], path, enabled: chosen !== undefined });
  const modelIds = (models.data?.data ?? []).map(({ id }) => id);
  const ofKeys = (keys.data ?? []).map(({ id, name }) => ({ value: id, label: name ?? id }));
  return (
    <div className="filters">
      <WorkspaceSelect all />
      {chosen !== undefined && (
        <Select
          label="Key"
          value={key ?? ''}
          onChange={(value) => change({ key: value })}
          options={withChosen([{ value: '', label: 'All keys' }, ...ofKeys], key)}
        />
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
          ...Object.entries(outcomes).map(([value, { word }]) => ({ value, label: word })),
        ]}
      />
    </div>
  );
}

function onlyOne<Item>(items: readonly Item[] | undefined): Item | undefined {
  return items?.length === 1 ? items[0] : undefined;
}

/** Keeps the address's selection as a choice, also where its key is not on the first page or its model has left the catalog. */
function withChosen(
  options: readonly { readonly value: string; readonly label: string }[],
  chosen: string | undefined,
) {
  return chosen === undefined || options.some(({ value }) => value === chosen)
    ? options
    : [...options, { value: chosen, label: chosen }];
}

/** Opens a request and keeps the selection. */
function OpenLink({ of }: { readonly of: RequestObject }) {
  const [selection] = useAddress();
  return (
    <Link href={withQuery('/requests', { ...selection, request: of.id })} className="nowrap">
      {formatRecent(of.started_at)}
    </Link>
  );
}

const columns: readonly Column<RequestObject>[] = [
  { title: 'Started', names: true, cell: (request) => <OpenLink of={request} /> },
  { title: 'Model', cell: ({ model }) => <span className="nowrap">{model}</span> },
  {
    title: 'Outcome',
    cell: ({ outcome }) => <Badge tone={outcomes[outcome].tone}>{outcomes[outcome].word}</Badge>,
  },
  { title: 'Cost', end: true, cell: ({ cost }) => formatMoney(cost) },
  { title: 'Prompt', end: true, cell: ({ prompt_tokens: tokens }) => formatCount(tokens) },
  { title: 'Output', end: true, cell: ({ completion_tokens: tokens }) => formatCount(tokens) },
  { title: 'First token', end: true, cell: ({ first_token_ms: ms }) => (ms === null ? unknown : formatMs(ms)) },
  { title: 'Duration', end: true, cell: ({ duration_ms: ms }) => formatMs(ms) },
  { title: 'Attempts', end: true, cell: ({ attempts }) => formatCount(attempts) },
  {
    title: 'Paid by',
    cell: ({ workspace, key }) => (
      <span className="cell-name">
        {workspace}
        <code className="small muted">{key}</code>
      </span>
    ),
  },
];
