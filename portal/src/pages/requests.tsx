import { useRef, useState } from 'react';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { useList } from '../data/calls.ts';
import { useThrottled } from '../data/throttled.ts';
import { useAskedWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { ColumnChoice, useHiddenColumns } from '../parts/columns.tsx';
import { Download } from '../parts/download.tsx';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { outcomes } from './outcomes.ts';
import { requestColumns } from './request-columns.tsx';
import { RequestFilters } from './request-filters.tsx';
import { RequestSheet } from './request-sheet.tsx';

/** Most live requests that the page keeps. */
const mostLive = 200;
const showMs = 500;

/** Requests as they end, newest first. A request opens in a sheet, which the address names. */
export function RequestsPage() {
  const [{ key, model, outcome, surface, search, from, to, request: opened }, change] = useAddress();
  const workspace = useAskedWorkspace();
  const query = { workspace: workspace ?? undefined, key, model, outcome, surface, search, from, to };
  const [hidden, setHidden] = useHiddenColumns('requests');
  const isNarrowed = [key, model, outcome, surface, search, from, to].some((part) => part !== undefined);
  const isWanted = useWanted(query);
  const [live, setLive] = useState<readonly ListedRequestObject[]>([]);
  const list = useList<ListedRequestObject>(['requests'], '/requests', { query, enabled: workspace !== null });
  // Many requests may end at once, and each would render the whole table again.
  const ended = useRef<ListedRequestObject[]>([]);
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
  const rows = merged(live.filter(isWanted), list.data ?? []);
  const index = rows.findIndex(({ id }) => id === opened);
  const move = (to: number): void => {
    // The next page is there when its first request is wanted.
    if (to + 1 === rows.length && list.hasNextPage) void list.fetchNextPage();
    change({ request: rows[to]?.id });
  };
  return (
    <Page
      title="Requests"
      about="As they end. Their content is not stored."
      actions={
        workspace !== null && <Download path={withQuery('/requests', query)} file={`requests-${fileDay()}.csv`} />
      }
    >
      <RequestFilters />
      <Loaded query={list} lines={12}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No requests">
              {isNarrowed ? nothingFound(search) : 'Requests appear here as soon as they end.'}
            </Empty>
          ) : (
            <>
              <ColumnChoice columns={requestColumns} hidden={hidden} onChange={setHidden} />
              <Table
                label="Requests"
                columns={requestColumns.filter(({ title }) => !hidden.has(title))}
                rows={rows}
                rowKey={({ id }) => id}
                isSelected={({ id }) => id === opened}
              />
            </>
          )
        }
      </Loaded>
      <More list={list} />
      {opened !== undefined && (
        <RequestSheet
          id={opened}
          place={index === -1 ? undefined : { index, count: rows.length, onMove: move }}
          onClose={() => change({ request: undefined })}
        />
      )}
    </Page>
  );
}

/** The day of the reader's clock, for the name of a file. */
const fileDay = (): string => new Date().toISOString().slice(0, 10);

function nothingFound(search: string | undefined): string {
  return search === undefined
    ? 'No request matches these filters.'
    : 'No request has this id. An x-request-id is searched in the last seven days, unless “From” says otherwise.';
}

type Filter = Readonly<
  Record<'workspace' | 'key' | 'model' | 'outcome' | 'surface' | 'search' | 'from' | 'to', string | undefined>
>;

/** Whether a choice of the filters has the outcome. */
function hasOutcome(choice: string, outcome: ListedRequestObject['outcome']): boolean {
  if (choice === 'settled') return outcome !== 'refused';
  return choice === 'error' ? outcomes[outcome].isError : choice === outcome;
}

/** Whether a request matches the filters. */
function useWanted(filter: Filter): (request: ListedRequestObject) => boolean {
  const { workspace, key, model, outcome, surface, search, from, to } = filter;
  const choices = useWorkspaceChoices();
  const name = choices?.find(({ id }) => id === workspace)?.name ?? workspace;
  return (request) =>
    (name === undefined || request.workspace === name) &&
    (key === undefined || request.key === key) &&
    (model === undefined || request.model === model) &&
    (outcome === undefined || hasOutcome(outcome, request.outcome)) &&
    (surface === undefined || request.surface === surface) &&
    (search === undefined || request.id === search || request.correlation_id === search) &&
    (from === undefined || new Date(request.started_at) >= new Date(from)) &&
    (to === undefined || new Date(request.started_at) < new Date(to));
}

/** Merges both lists, newest first, each request once. */
function merged(
  live: readonly ListedRequestObject[],
  stored: readonly ListedRequestObject[],
): readonly ListedRequestObject[] {
  if (live.length === 0) return stored;
  const known = new Set(live.map(({ id }) => id));
  const all = [...live, ...stored.filter(({ id }) => !known.has(id))];
  return all.toSorted((one, other) => other.started_at.localeCompare(one.started_at));
}
