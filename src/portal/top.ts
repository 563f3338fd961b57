import { formatUsd, parseUsd } from '../core/money.ts';
import { byTraffic, type TrafficGroup, type TrafficRow } from '../telemetry/core/traffic.ts';
import type { TopRowObject } from './api/top.ts';
import type { Answers } from './services.ts';
import type { PortalStore } from './store-port.ts';

/** Maximum number of rows of the merged list. */
const maxRows = 50;

/**
 * The requests of the last minute over all services, the most first. Keys and workspaces have their names, as far as the
 * database answers.
 */
export async function topOf(
  { data }: Answers<readonly TrafficRow[]>,
  group: TrafficGroup,
  store: Pick<PortalStore, 'keyLabels' | 'listWorkspaces'>,
): Promise<TopRowObject[]> {
  const byName = Map.groupBy(
    data.flatMap(({ said }) => said),
    ({ name }) => name,
  );
  const rows = [...byName.values()].flatMap(mergeRows).toSorted(byTraffic).slice(0, maxRows);
  const labels = await labelsOf(rows, group, store).catch(() => new Map<string, string>());
  return rows.map((row) => ({ ...row, label: labels.get(row.name ?? '') ?? null }));
}

function mergeRows([first, ...others]: readonly TrafficRow[]): readonly TrafficRow[] {
  if (first === undefined) return [];
  return [others.reduce(sum, first)];
}

const sums = (one: TrafficRow['refused'], other: TrafficRow['refused']): Record<string, number> =>
  Object.fromEntries(Object.keys({ ...one, ...other }).map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));

function sum(one: TrafficRow, other: TrafficRow): TrafficRow {
  return {
    name: one.name,
    requests: one.requests + other.requests,
    refused: sums(one.refused, other.refused),
    would_refuse: sums(one.would_refuse, other.would_refuse),
    failed: one.failed + other.failed,
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    cost: formatUsd((parseUsd(one.cost) ?? 0n) + (parseUsd(other.cost) ?? 0n)),
    in_flight: one.in_flight + other.in_flight,
  };
}

async function labelsOf(
  rows: readonly TrafficRow[],
  group: TrafficGroup,
  store: Pick<PortalStore, 'keyLabels' | 'listWorkspaces'>,
): Promise<ReadonlyMap<string, string>> {
  if (group === 'key') {
    const labels = await store.keyLabels(rows.flatMap(({ name }) => name ?? []));
    return new Map([...labels].map(([id, { name, workspace }]) => [id, [workspace, name].filter(Boolean).join(' / ')]));
  }
  if (group !== 'workspace') return new Map();
  return new Map((await store.listWorkspaces()).map(({ id, name }) => [id, name]));
}
