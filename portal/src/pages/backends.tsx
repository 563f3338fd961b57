import type { BackendObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { useBackends } from '../data/models.ts';
import { formatCount, unknown } from '../format/format.ts';
import { backendState } from '../data/states.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { ProblemsOf } from './current-problems.tsx';

const columns: readonly Column<BackendObject>[] = [
  { title: 'Backend', names: true, cell: ({ name }) => name },
  { title: 'State', line: 1, cell: (backend) => <BackendState of={backend} /> },
  { title: 'Engine', line: 2, cell: ({ engine }) => engine ?? unknown },
  { title: 'Endpoints', line: 2, cell: (backend) => <Endpoints of={backend} /> },
  {
    title: 'In flight',
    end: true,
    cell: ({ in_flight: now, capacity }) =>
      capacity === null ? formatCount(now) : `${formatCount(now)} of ${formatCount(capacity)}`,
  },
  { title: 'Service', cell: ({ service }) => <code>{service}</code> },
];

/** How many of the endpoints get requests, and why the others do not. */
function Endpoints({ of: { endpoints, failing, conditions } }: { readonly of: BackendObject }) {
  if (endpoints === null) return <span className="muted">Unknown to the edge</span>;
  const isTried = conditions.every(({ type, status }) => type !== 'Healthy' || status !== 'Unknown');
  return (
    <span className="cell-name">
      <span className="nowrap">
        {isTried ? `${formatCount(endpoints.healthy)} of ` : ''}
        {formatCount(endpoints.total)} {isTried ? 'well' : 'not tried yet'}
      </span>
      {failing.map(({ endpoint, why }) => (
        <span key={endpoint} className="small muted">
          {endpoint}: {why}
        </span>
      ))}
    </span>
  );
}

/** The state, and the conditions that say why. */
function BackendState({ of }: { readonly of: BackendObject }) {
  const said = of.conditions.filter(({ status, reason }) => status !== 'True' || reason === 'DiffersFromManifest');
  return (
    <span className="cell-name">
      <span>
        <StateBadge of={backendState(of)} />
      </span>
      {said.map(({ type, status, reason, message }) => (
        <span key={type} className="small muted">
          {type} is {status}, {reason}: {message}
        </span>
      ))}
    </span>
  );
}

/** The engines behind the models, as each service sees them. */
export function BackendsPage() {
  const [{ backend: chosen }] = useAddress();
  const backends = useBackends({ isLive: true });
  return (
    <Page title="Backends" about="The engines behind the models, as each service sees them.">
      <Loaded query={backends}>
        {({ data }) => (
          <>
            <ProblemsOf label="Silent services" are={({ kind }) => kind === 'service-silent'} />
            <Table
              label="Backends"
              columns={columns}
              rows={data}
              isSelected={({ name }) => name === chosen}
              rowKey={({ name, service }) => `${name} ${service}`}
              empty={<Empty title="No backends">None is configured, or no service reports them.</Empty>}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}
