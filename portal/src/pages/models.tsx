import { useQuery } from '@tanstack/react-query';
import type { ModelObject, ModelListObject, ModelRouteObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { call } from '../data/api.ts';
import { formatCount, formatDecimal, formatMs, formatPricePerMillion, formatShare, unknown } from '../format/format.ts';
import { Badge } from '../parts/badge.tsx';
import { Copy } from '../parts/copy.tsx';
import { type Option, Select, TextField } from '../parts/fields.tsx';
import { type Fact, Facts, Page } from '../parts/page.tsx';
import { Empty, Loaded, Notice, type Tone } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { CallExamples } from './call-examples.tsx';
import { ServiceProblems } from './service-problems.tsx';

/** How often live data is read again. */
const liveMs = 10_000;

export function useModels() {
  return useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models'), refetchInterval: liveMs });
}

/** The catalog: prices, limits, how fast each model answers now, and how to call it. */
export function ModelsPage() {
  const models = useModels();
  const [{ find: wanted = '', state, takes, sort }, change] = useAddress();
  return (
    <Page title="Models" about="Prices, limits and current state of the models.">
      <div className="filters">
        <TextField
          label="Find"
          type="search"
          value={wanted}
          onChange={(event) => change({ find: event.target.value })}
        />
        <Select
          label="State"
          value={state ?? ''}
          onChange={(value) => change({ state: value })}
          options={[{ value: '', label: 'All states' }, ...optionsOf(states, ({ word }) => word)]}
        />
        <Select
          label="Takes"
          value={takes ?? ''}
          onChange={(value) => change({ takes: value })}
          options={[{ value: '', label: 'Text or more' }, ...optionsOf(modalityNames, (name) => name).slice(1)]}
        />
        <Select
          label="Sort by"
          value={sort ?? ''}
          onChange={(value) => change({ sort: value })}
          options={[{ value: '', label: 'Name' }, ...optionsOf(orders, ({ label }) => label)]}
        />
      </div>
      <Loaded query={models}>
        {({ data, services }) => {
          const text = wanted.trim().toLowerCase();
          const named = data.filter(({ id, aliases }) => [id, ...aliases].some((name) => name.includes(text)));
          const found = sorted(
            named.filter(
              (model) =>
                (state === undefined || model.state === state) &&
                (takes === undefined || model.input_modalities.some((modality) => modality === takes)),
            ),
            sort,
          );
          return (
            <>
              <ServiceProblems services={services} />
              {found.length === 0 ? (
                <Empty title={data.length === 0 ? 'No models' : 'No such model'}>
                  {data.length === 0 && <p>The catalog is empty, or no service reports it.</p>}
                </Empty>
              ) : (
                <div className="model-list">
                  {found.map((model) => (
                    <ModelCard key={model.id} model={model} />
                  ))}
                </div>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

const states: Readonly<Record<ModelObject['state'], { readonly word: string; readonly tone: Tone }>> = {
  available: { word: 'Available', tone: 'good' },
  degraded: { word: 'Degraded', tone: 'warn' },
  unavailable: { word: 'Unavailable', tone: 'bad' },
};

const modalityNames = { text: 'Text', image: 'Images' } as const;

/** Orders of the list: by a number of a model, the smallest first. A model without one comes last. */
const orders: Readonly<
  Record<string, { readonly label: string; readonly of: (model: ModelObject) => number | undefined }>
> = {
  prompt: { label: 'Price of prompts', of: ({ pricing }) => numberOf(pricing?.prompt) },
  output: { label: 'Price of output', of: ({ pricing }) => numberOf(pricing?.completion) },
  context: { label: 'Largest context', of: ({ context_length: tokens }) => (tokens === null ? undefined : -tokens) },
};

const numberOf = (usd: string | undefined): number | undefined => (usd === undefined ? undefined : Number(usd));

function sorted(models: readonly ModelObject[], by: string | undefined): readonly ModelObject[] {
  const order = by === undefined ? undefined : orders[by];
  if (order === undefined) return models;
  return models.toSorted((one, other) => (order.of(one) ?? Infinity) - (order.of(other) ?? Infinity) || 0);
}

function optionsOf<Named>(of: Readonly<Record<string, Named>>, labelOf: (named: Named) => string): readonly Option[] {
  return Object.entries(of).map(([value, named]) => ({ value, label: labelOf(named) }));
}

function ModelCard({ model }: { readonly model: ModelObject }) {
  const { word, tone } = states[model.state];
  return (
    <article className="card" aria-label={model.id}>
      <div className="model-head">
        <h2>{model.id}</h2>
        <Copy text={model.id} label={model.id} size="small" />
        <span className="end chips">
          {!model.listed && <Badge tone="none">Not listed</Badge>}
          <Badge tone={tone}>{word}</Badge>
        </span>
      </div>
      {model.reason !== null && (
        <div className="models-state">
          <Notice tone={tone}>
            <p>{model.reason}</p>
          </Notice>
        </div>
      )}
      <Facts
        facts={[
          ...(model.aliases.length === 0 ? [] : [{ name: 'Also called', value: model.aliases.join(', ') }]),
          ...prices(model),
          {
            name: 'Context',
            value: model.context_length === null ? unknown : `${formatCount(model.context_length)} tokens`,
          },
          { name: 'Takes', value: model.input_modalities.map((modality) => modalityNames[modality]).join(', ') },
          { name: 'Reasoning', value: reasoningOf(model) },
          { name: 'Time to first token', value: measured(model.first_token_ms_p50, formatMs) },
          { name: 'Output tokens a second', value: measured(model.tokens_per_second_p50, formatDecimal) },
          { name: 'Availability', value: measured(model.availability, formatShare) },
        ]}
      />
      {model.routes !== null && model.routes.length > 0 && (
        <details style={{ marginTop: 16 }}>
          <summary>Routes of {model.id}</summary>
          <RouteTable id={model.id} routes={model.routes} />
        </details>
      )}
      <details style={{ marginTop: 12 }}>
        <summary>How to call {model.id}</summary>
        <CallExamples model={model.id} />
      </details>
    </article>
  );
}

/** A figure that has a value only after some requests. */
const measured = (value: number | null, format: (value: number) => string): string =>
  value === null ? 'too few requests yet' : format(value);

const orUnknown = (value: number | null, format: (value: number) => string): string =>
  value === null ? unknown : format(value);

/** USD per million tokens. A model without a route has no prices. */
function prices({ pricing }: ModelObject): readonly Fact[] {
  if (pricing === null) return [];
  return [
    { name: 'Prompt, per million tokens', value: formatPricePerMillion(pricing.prompt) },
    { name: 'from the cache', value: formatPricePerMillion(pricing.input_cache_read) },
    { name: 'Output, per million tokens', value: formatPricePerMillion(pricing.completion) },
  ];
}

function reasoningOf({ reasoning }: ModelObject): string {
  if (reasoning === null) return unknown;
  const { mode, efforts } = reasoning;
  if (mode === 'None') return 'No';
  const levels = efforts.length === 0 ? '' : `: ${efforts.join(', ')}`;
  return mode === 'Always' ? `Always${levels}` : `On request${levels}`;
}

/** Explains a state of a route. */
const routeStates: Readonly<Record<ModelRouteObject['state'], string>> = {
  available: 'Available',
  full: 'Full: all its slots are taken',
  ejected: 'Ejected: its requests failed',
  probe: 'Being probed: its requests failed before',
  'invalid-structure': 'Not asked for structured answers: they were invalid',
  'structure-probe': 'Being probed for structured answers',
  'last-resort': 'Last resort: its requests failed, and there is no other',
};

const routeColumns: readonly Column<ModelRouteObject>[] = [
  { title: 'Backend', names: true, cell: ({ backend }) => backend },
  {
    title: 'State',
    cell: ({ state, ejected }) => (
      <>
        {routeStates[state]}
        {ejected.length > 0 && <span className="small muted"> Without requests: {ejected.join(', ')}</span>}
      </>
    ),
  },
  { title: 'Weight', end: true, cell: ({ weight }) => (weight === 0 ? '0, standby' : formatCount(weight)) },
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

function RouteTable({ id, routes }: { readonly id: string; readonly routes: readonly ModelRouteObject[] }) {
  return (
    <Table
      label={`Routes of ${id}`}
      columns={routeColumns}
      rows={routes}
      rowKey={({ route, service }) => `${route} ${service}`}
    />
  );
}
