import { memo, useDeferredValue, useState } from 'react';
import { Link } from 'wouter';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { useAddress } from '../data/address.ts';
import { modelPath, useModels } from '../data/models.ts';
import { formatCount } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Details } from '../parts/details.tsx';
import { type Option, Select, TextField } from '../parts/fields.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { CallExamples } from './call-examples.tsx';
import { ModelFacts, ModelState, modalityNames } from './model-facts.tsx';
import { RouteTable } from './model-routes.tsx';
import { ModelPage } from './model.tsx';
import { ProblemsOf } from './current-problems.tsx';

/** The catalog, or the model that the address names. */
export function ModelsPage() {
  const [{ model }] = useAddress();
  return model === undefined ? <Catalog /> : <ModelPage key={model} id={model} />;
}

/** All models: prices, limits, how fast each answers now, and how to call it. */
function Catalog() {
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
          options={[{ value: '', label: 'All states' }, ...optionsOf(stateWords, (word) => word)]}
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
        {({ data }) => {
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
              <ProblemsOf label="Silent services" are={({ kind }) => kind === 'service-silent'} />
              {found.length === 0 ? (
                <Empty title={data.length === 0 ? 'No models' : 'No such model'}>
                  {data.length === 0 && <p>The catalog is empty, or no service reports it.</p>}
                </Empty>
              ) : (
                <ModelCards models={found} />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

const stateWords = { available: 'Available', degraded: 'Degraded', unavailable: 'Unavailable' };

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

/** Models that the page shows at first, and more of at a time. */
const shownAtOnce = 50;

function ModelCards({ models }: { readonly models: readonly ModelObject[] }) {
  const [most, setMost] = useState(shownAtOnce);
  // The field shows a letter at once, and the cards follow.
  const deferred = useDeferredValue(models);
  return (
    <>
      <CardList models={deferred} most={most} />
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

const CardList = memo(function CardList({
  models,
  most,
}: {
  readonly models: readonly ModelObject[];
  readonly most: number;
}) {
  return (
    <div className="model-list">
      {models.slice(0, most).map((model) => (
        <ModelCard key={model.id} model={model} />
      ))}
    </div>
  );
});

/** A letter in the filter renders only the cards that were not there before. */
const ModelCard = memo(function ModelCard({ model }: { readonly model: ModelObject }) {
  return (
    <article className="card" aria-label={model.id}>
      <div className="model-head">
        <h2>
          <Link href={modelPath(model.id)}>{model.id}</Link>
        </h2>
        <Copy text={model.id} label={model.id} size="small" />
        <ModelState of={model} />
      </div>
      <ModelFacts of={model} />
      {model.routes !== null && model.routes.length > 0 && (
        <Details title={`Routes of ${model.id}`}>
          <RouteTable id={model.id} routes={model.routes} />
        </Details>
      )}
      <Details title={`How to call ${model.id}`}>
        <CallExamples model={model} />
      </Details>
    </article>
  );
});
