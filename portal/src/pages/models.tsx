import { useDeferredValue, useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useModels } from '../data/models.ts';
import { maySomewhere } from '../data/rights.ts';
import { useSession } from '../data/session.ts';
import { modelState } from '../data/states.ts';
import { useMinute, useUsage } from '../data/usage.ts';
import { beginningOf } from '../data/usage-range.ts';
import { useAskedWorkspace } from '../data/workspaces.ts';
import {
  formatCompact,
  formatCount,
  formatDecimal,
  formatMs,
  formatPricePerMillion,
  orUnknown,
} from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { optionsOf, Select, TextField } from '../parts/fields.tsx';
import { onDemand } from '../parts/on-demand.tsx';
import { Page } from '../parts/page.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { ProblemsOf } from './current-problems.tsx';
import { kindNames, ModelState, modalityNames } from './model-facts.tsx';

/** Its code loads when the focus or the pointer comes to a model. */
const ModelSheet = onDemand(() => import('./model.tsx').then((loaded) => loaded.ModelSheet), null);

/** The catalog as a table, and the model that the address names in a sheet. */
export function ModelsPage() {
  const models = useModels();
  const [{ find: wanted = '', state, takes, model }, change] = useAddress();
  const text = useDeferredValue(wanted.trim().toLowerCase());
  return (
    <Page
      title="Models"
      about="Prices in USD per million tokens."
      actions={
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
            options={[{ value: '', label: 'All states' }, ...states]}
          />
          <Select
            label="Takes"
            value={takes ?? ''}
            onChange={(value) => change({ takes: value })}
            options={[
              { value: '', label: 'Text or more' },
              { value: 'image', label: modalityNames.image },
            ]}
          />
        </div>
      }
    >
      <ProblemsOf label="Silent services" are={({ kind }) => kind === 'service-silent'} />
      <Loaded query={models}>
        {({ data }) => {
          const found = data.filter(
            (one) =>
              [one.id, ...one.aliases].some((name) => name.includes(text)) &&
              (state === undefined || modelState(one).word === state) &&
              (takes === undefined || one.input_modalities.some((modality) => modality === takes)),
          );
          return found.length === 0 ? (
            <Empty title={data.length === 0 ? 'No models' : 'No such model'}>
              {data.length === 0 && <p>The catalog is empty, or no service reports it.</p>}
            </Empty>
          ) : (
            <Catalog models={found} />
          );
        }}
      </Loaded>
      {model !== undefined && <ModelSheet key={model} id={model} onClose={() => change({ model: undefined })} />}
    </Page>
  );
}

const states = optionsOf(['Available', 'Degraded', 'Unavailable', 'Unknown']);

/** Models that the page shows at first, and more of at a time. */
const shownAtOnce = 50;
/** From so many rows on they are as low as a target may be, 24 pixels, so that forty fit a screen of 1080. */
const manyRows = 25;
const hourMs = 3_600_000;

function Catalog({ models }: { readonly models: readonly ModelObject[] }) {
  const [most, setMost] = useState(shownAtOnce);
  const session = useSession();
  const [selection] = useAddress();
  // Without the open model, so that the rows stay as they are when one opens.
  const filters = withQuery('', { ...selection, model: undefined });
  const requests = useRequestsOfDay();
  const mayTry = maySomewhere(session, 'playground:use');
  const columns = useMemo(
    (): readonly Column<ModelObject>[] => [
      {
        ...({ title: 'Model', names: true, sortBy: ({ id }: ModelObject) => id } as const),
        cell: ({ id }) => (
          <Link
            href={withQuery('/models', { ...Object.fromEntries(new URLSearchParams(filters)), model: id })}
            onFocus={ModelSheet.preload}
            onPointerEnter={ModelSheet.preload}
          >
            {id}
          </Link>
        ),
      },
      { title: 'State', line: 1, cell: (model) => <ModelState of={model} /> },
      ...figures,
      {
        title: '24 hours',
        cell: ({ id }) => <Sparkline counts={requests?.get(id) ?? quiet} />,
      },
      ...(mayTry ? [tryColumn] : []),
    ],
    [filters, requests, mayTry],
  );
  return (
    <>
      <Table
        label="Models"
        columns={columns}
        rows={models.slice(0, most)}
        rowKey={({ id }) => id}
        isSelected={({ id }) => id === selection['model']}
        isLow={Math.min(models.length, most) >= manyRows}
      />
      {models.length > most && (
        <div className="actions" style={{ justifyContent: 'center' }}>
          <span className="muted">
            {formatCount(most)} of {formatCount(models.length)} models
          </span>
          <Button onPress={() => setMost(most + shownAtOnce)}>Show more</Button>
        </div>
      )}
    </>
  );
}

type Price = keyof NonNullable<ModelObject['pricing']>;

const priceColumn = (title: string, name: Price, line?: 2): Column<ModelObject> => ({
  ...{ title, end: true, ...(line && { line }) },
  cell: ({ pricing }) => orUnknown(pricing?.[name], formatPricePerMillion),
  sortBy: ({ pricing }) => Number(pricing?.[name] ?? -1),
});

/** A model without a figure comes last among the greatest. */
const figures: readonly Column<ModelObject>[] = [
  priceColumn('In', 'prompt', 2),
  priceColumn('Cached', 'input_cache_read'),
  priceColumn('Out', 'completion', 2),
  {
    ...({ title: 'Context', end: true, line: 2 } as const),
    cell: ({ context_length: tokens }) => orUnknown(tokens, formatCompact),
    sortBy: ({ context_length: tokens }) => tokens ?? -1,
  },
  { title: 'Takes', cell: ({ input_modalities: all }) => all.map((one) => modalityNames[one]).join(', ') },
  { title: 'Kind', cell: ({ kind }) => kindNames[kind] },
  {
    ...({ title: 'First token', end: true } as const),
    cell: ({ first_token_ms_p50: ms }) => orUnknown(ms, formatMs),
    sortBy: ({ first_token_ms_p50: ms }) => ms ?? -1,
  },
  {
    ...({ title: 'Tokens a second', end: true } as const),
    cell: ({ tokens_per_second_p50: speed }) => orUnknown(speed, formatDecimal),
    sortBy: ({ tokens_per_second_p50: speed }) => speed ?? -1,
  },
];

const tryColumn: Column<ModelObject> = {
  ...{ title: 'Try', bare: true },
  cell: ({ id, kind }) =>
    kind === 'chat' && (
      <Link href={withQuery('/playground', { model: id })} aria-label={`Try ${id}`}>
        Try
      </Link>
    ),
};

const quiet = [0, 0];

/** The requests of the last 24 hours by model: one figure an hour, the oldest first. */
function useRequestsOfDay(): ReadonlyMap<string, readonly number[]> | undefined {
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const from = beginningOf('24h', now);
  const filter = useMemo(
    () => ({ from, to: undefined, workspace, key: undefined, model: undefined }),
    [from, workspace],
  );
  const lines = useUsage(filter, ['hour', 'model']).data?.lines;
  return useMemo(() => {
    if (lines === undefined) return undefined;
    const byModel = Map.groupBy(lines, ({ model }) => model ?? '');
    const hours = Array.from({ length: 24 }, (_, at) => Date.parse(from) + at * hourMs);
    const valuesOf = (own: typeof lines): readonly number[] => {
      const byHour = new Map(own.map(({ hour, requests }) => [Date.parse(hour ?? ''), requests]));
      return hours.map((hour) => byHour.get(hour) ?? 0);
    };
    return new Map([...byModel].map(([id, own]) => [id, valuesOf(own)]));
  }, [lines, from]);
}
