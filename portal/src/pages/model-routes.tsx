import { Link } from 'wouter';
import type { BackendObject, ModelRouteObject } from '../../../src/portal/api/catalog.ts';
import type { ModelHistoryObject } from '../../../src/portal/api/model-history.ts';
import { withQuery } from '../data/api.ts';
import { formatCount, formatMs, formatShare, orUnknown } from '../format/format.ts';
import { Badge } from '../parts/badge.tsx';
import type { Tone } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';

/** Explains a state of a route. */
const routeStates: Readonly<Record<ModelRouteObject['state'], string>> = {
  available: 'Available',
  full: 'Full: all its slots are taken',
  ejected: 'Ejected: attempts failed or were slow',
  probe: 'Being probed: attempts failed or were slow before',
  'invalid-structure': 'Not asked for structured answers: they were invalid',
  'other-vectors': 'Without requests: its vectors are others than those of the model, or not known',
  'structure-probe': 'Being probed for structured answers',
  'last-resort': 'Last resort: attempts failed, and there is no other',
};

type Traffic = ModelHistoryObject['traffic'];

/** `traffic` adds a column with the share of requests that each route has delivered. */
function columnsOf(routes: readonly ModelRouteObject[], traffic: Traffic): readonly Column<ModelRouteObject>[] {
  const weights = new Map(routes.map(({ route, weight }) => [route, weight]));
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return [
    {
      title: 'Backend',
      names: true,
      cell: ({ backend }) => <Link href={withQuery('/backends', { backend })}>{backend}</Link>,
    },
    {
      title: 'State',
      cell: ({ state, ejected }) => (
        <>
          {routeStates[state]}
          {ejected.length > 0 && <span className="small muted"> Without requests: {ejected.join(', ')}</span>}
        </>
      ),
    },
    {
      title: 'Weight',
      end: true,
      cell: ({ weight }) =>
        weight === 0 ? '0, standby' : `${formatCount(weight)}, ${formatShare(weight / Math.max(1, all))}`,
    },
    ...(traffic === null
      ? []
      : [
          {
            title: 'Traffic, 24 hours',
            end: true as const,
            cell: ({ route }: ModelRouteObject) => {
              const own = traffic.find((one) => one.route === route);
              if (own === undefined) return 'None';
              const requests = own.requests === 1 ? '1 request' : `${formatCount(own.requests)} requests`;
              return `${formatShare(own.share)}, ${requests}`;
            },
          },
        ]),
    { title: 'Success', end: true, cell: ({ success }) => formatShare(success) },
    { title: 'First output', end: true, cell: ({ first_output_ms: ms }) => orUnknown(ms, formatMs) },
    { title: 'p95', end: true, cell: ({ first_output_p95_ms: ms }) => orUnknown(ms, formatMs) },
    {
      title: 'In flight',
      end: true,
      cell: ({ in_flight: now, capacity }) =>
        capacity === null ? formatCount(now) : `${formatCount(now)} of ${formatCount(capacity)}`,
    },
    { title: 'Endpoints', end: true, cell: ({ endpoints }) => formatCount(endpoints) },
    { title: 'Service', cell: ({ service }) => <code>{service}</code> },
  ];
}

interface RouteTableProps {
  readonly id: string;
  readonly routes: readonly ModelRouteObject[];
  readonly traffic?: Traffic;
}

export function RouteTable({ id, routes, traffic = null }: RouteTableProps) {
  return (
    <Table
      label={`Routes of ${id}`}
      columns={columnsOf(routes, traffic)}
      rows={routes}
      rowKey={({ route, service }) => `${route} ${service}`}
      empty={<p>No route: nothing serves this model.</p>}
    />
  );
}

interface EndpointRow {
  readonly backend: string;
  readonly endpoint: string;
  readonly state: keyof typeof endpointStates;
  readonly service: string;
}

const endpointStates = {
  serving: { word: 'Gets requests', tone: 'good' },
  'health-check': { word: 'Fails its health check', tone: 'bad' },
  requests: { word: 'Gets none: attempts failed', tone: 'warn' },
  slow: { word: 'Gets none: is slow', tone: 'warn' },
} as const satisfies Readonly<Record<string, { readonly word: string; readonly tone: Tone }>>;

const endpointColumns: readonly Column<EndpointRow>[] = [
  {
    title: 'Endpoint',
    names: true,
    cell: ({ endpoint }) => <code>{endpoint}</code>,
    sortBy: ({ endpoint }) => endpoint,
  },
  { title: 'Backend', cell: ({ backend }) => backend, sortBy: ({ backend }) => backend },
  {
    title: 'State',
    cell: ({ state }) => <Badge tone={endpointStates[state].tone}>{endpointStates[state].word}</Badge>,
    sortBy: ({ state }) => endpointStates[state].word,
  },
  { title: 'Service', cell: ({ service }) => <code>{service}</code> },
];

/** The endpoints of the backends of a model: those with a fault first. A backend names only some of many. */
export function EndpointTable({ id, backends }: { readonly id: string; readonly backends: readonly BackendObject[] }) {
  const rows = backends.flatMap(({ name: backend, service, failing, serving }): readonly EndpointRow[] => [
    ...failing.map(({ endpoint, why }) => ({ backend, service, endpoint, state: why })),
    ...serving.map((endpoint) => ({ backend, service, endpoint, state: 'serving' as const })),
  ]);
  const total = backends.reduce((sum, { endpoints }) => sum + (endpoints?.total ?? 0), 0);
  return (
    <>
      <Table
        label={`Endpoints of ${id}`}
        columns={endpointColumns}
        rows={rows}
        rowKey={({ service, backend, endpoint }) => `${service} ${backend} ${endpoint}`}
      />
      {total > rows.length && <p className="small muted">{formatCount(total - rows.length)} more are not named.</p>}
    </>
  );
}
