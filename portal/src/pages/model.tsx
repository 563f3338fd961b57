import { Link } from 'wouter';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { ModelHistoryObject, PricesSinceObject } from '../../../src/portal/api/model-history.ts';
import { ApiError, withQuery } from '../data/api.ts';
import { useBackends, useModelHistory, useModels } from '../data/models.ts';
import { maySomewhere } from '../data/rights.ts';
import { useSession } from '../data/session.ts';
import { formatPricePerMillion } from '../format/format.ts';
import { Copy } from '../parts/copy.tsx';
import { Moment } from '../parts/moment.tsx';
import { Card } from '../parts/page.tsx';
import { Sheet } from '../parts/sheet.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { CallExamples } from './call-examples.tsx';
import { ModelFacts, ModelState } from './model-facts.tsx';
import { EndpointTable, RouteTable } from './model-routes.tsx';
import { ModelSpeed } from './model-speed.tsx';

/** One model: its state, prices and speed over time, how to call it, and where its requests go. */
export function ModelSheet({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const session = useSession();
  const models = useModels();
  const model = models.data?.data.find((one) => one.id === id || one.aliases.includes(id));
  const history = useModelHistory(model?.id ?? id);
  const isUnknown = history.error instanceof ApiError && history.error.status === 404 && model === undefined;
  return (
    <Sheet title={model?.id ?? id} onClose={onClose}>
      {isUnknown ? (
        <Empty title="No such model">
          <p>The catalog does not have {id}, and no request went to it.</p>
        </Empty>
      ) : (
        <div className="stack">
          <p className="actions">
            <Copy text={id} label={id} />
            {maySomewhere(session, 'playground:use') && (
              <Link href={withQuery('/playground', { model: id })}>Playground</Link>
            )}
            <Link href={withQuery('/usage', { model: id, range: '30d' })}>Usage</Link>
            <Link href={withQuery('/requests', { model: id })}>Requests</Link>
          </p>
          <Loaded query={models}>
            {() => (
              <Card title="Now" aside={model && <ModelState of={model} />}>
                {model === undefined ? <p>The catalog no longer has this model.</p> : <ModelFacts of={model} />}
              </Card>
            )}
          </Loaded>
          <Loaded query={history}>
            {(shown) => (
              <>
                <ModelSpeed days={shown.days} />
                <Prices of={shown.prices} />
              </>
            )}
          </Loaded>
          {session.role === 'admin' && model !== undefined && (
            <Routes model={model} traffic={history.data?.traffic ?? null} />
          )}
          {model !== undefined && (
            <Card title="How to call it">
              <CallExamples model={model} />
            </Card>
          )}
        </div>
      )}
    </Sheet>
  );
}

const priceColumns: readonly Column<PricesSinceObject>[] = [
  { title: 'Since', names: true, cell: ({ since }) => <Moment at={since} /> },
  { title: 'Prompt', end: true, cell: ({ prompt }) => formatPricePerMillion(prompt) },
  { title: 'from the cache', end: true, cell: ({ input_cache_read: cached }) => formatPricePerMillion(cached) },
  { title: 'Output', end: true, cell: ({ completion }) => formatPricePerMillion(completion) },
];

function Prices({ of }: { readonly of: readonly PricesSinceObject[] }) {
  return (
    <Card title="Prices over time">
      <p className="small muted">
        Per million tokens.{' '}
        {of.length === 0
          ? 'None is recorded yet: the portal looks once a minute.'
          : 'Each from the moment at which the portal first saw it.'}
      </p>
      <Table label="Prices over time" columns={priceColumns} rows={of} rowKey={({ since }) => since} empty={null} />
    </Card>
  );
}

interface RoutesProps {
  readonly model: ModelObject;
  readonly traffic: ModelHistoryObject['traffic'];
}

/** Where the requests go, for admins. */
function Routes({ model: { id, routes }, traffic }: RoutesProps) {
  const backends = useBackends({ isLive: false });
  const used = new Set((routes ?? []).map(({ backend }) => backend));
  return (
    <>
      <Card title="Routes">
        <RouteTable id={id} routes={routes ?? []} traffic={traffic} />
      </Card>
      {used.size > 0 && (
        <Card title="Endpoints">
          <Loaded query={backends} lines={3}>
            {({ data }) => <EndpointTable id={id} backends={data.filter(({ name }) => used.has(name))} />}
          </Loaded>
        </Card>
      )}
    </>
  );
}
