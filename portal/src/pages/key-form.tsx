import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import type { ModelListObject } from '../../../src/portal/api/catalog.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { ApiError, call } from '../data/api.ts';
import { formatUtcMoment, timeZone } from '../format/format.ts';
import { isoOfLocal, localMinute } from '../format/local-minute.ts';
import { Button } from '../parts/button.tsx';
import { partsOf, Select, TextField, valueOf } from '../parts/fields.tsx';
import { Problem } from '../parts/states.tsx';

interface KeyFormProps {
  readonly action: string;
  /** The key that is edited. */
  readonly of?: KeyObject;
  readonly state: { readonly error: Error | null; readonly isPending: boolean };
  readonly onCancel: () => void;
  readonly onSubmit: (changed: KeyFields) => void;
}

/** The fields that differ from the first values of the form. Null removes a value. */
export interface KeyFields {
  readonly name?: string | null;
  readonly budget?: { readonly limit: string; readonly period: Period } | null;
  readonly thresholds?: number[];
  readonly expires_at?: string | null;
  readonly models?: string[] | null;
  readonly rate?: number;
  readonly burst?: number;
}

type Period = NonNullable<KeyObject['budget']>['period'];

/** The values of the form. */
interface Shown {
  readonly name: string;
  readonly limit: string;
  readonly period: Period;
  readonly thresholds: string;
  /** A moment in the reader's zone, to the minute. Empty: none. */
  readonly expires: string;
  readonly models: string;
  readonly rate: string;
  readonly burst: string;
}

const shownOf = (of: KeyObject | undefined): Shown => ({
  name: of?.name ?? '',
  limit: of?.budget?.limit ?? '',
  period: of?.budget?.period ?? 'month',
  thresholds: of?.thresholds.join(', ') ?? '',
  expires: localMinute(of?.expires_at ?? null),
  models: of?.models?.join(', ') ?? '',
  rate: String(of?.rate ?? usualRate),
  burst: String(of?.burst ?? usualBurst),
});

/** The limits of a new key without others, as in `src/portal/api/keys.ts`. */
const [usualRate, usualBurst] = [100, 200];

const fields = ['name', 'budget', 'thresholds', 'expires_at', 'models', 'rate', 'burst'] as const;

/** Form for name, budget, limits, expiry and models of a new or existing key. */
export function KeyForm({ action, of, state, onCancel, onSubmit }: KeyFormProps) {
  // The values that the form showed at first, also if the key changes meanwhile.
  const [first] = useState(() => shownOf(of));
  const [models, setModels] = useState(first.models);
  const [expires, setExpires] = useState(first.expires);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const period = periodOf(valueOf(form, 'period'));
    onSubmit(
      changesOf(first, {
        ...{ name: valueOf(form, 'name'), limit: valueOf(form, 'budget'), period, expires, models },
        ...{ rate: valueOf(form, 'rate'), burst: valueOf(form, 'burst') },
        thresholds: of === undefined ? '' : valueOf(form, 'thresholds'),
      }),
    );
  };
  const errorOf = (name: (typeof fields)[number]): string | undefined =>
    state.error instanceof ApiError && state.error.field?.startsWith(name) ? state.error.message : undefined;
  const hasField = fields.some((name) => errorOf(name) !== undefined);
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        name="name"
        maxLength={100}
        autoFocus
        defaultValue={first.name}
        error={errorOf('name')}
        hint="Purpose of the key."
      />
      <div className="form-grid">
        <TextField
          label="Budget (USD)"
          name="budget"
          inputMode="decimal"
          defaultValue={first.limit}
          placeholder="No limit"
          error={errorOf('budget')}
        />
        <Select
          label="Period"
          name="period"
          defaultValue={first.period}
          options={[
            { value: 'day', label: 'Day' },
            { value: 'week', label: 'Week' },
            { value: 'month', label: 'Month' },
            { value: 'total', label: 'In all' },
          ]}
        />
      </div>
      {of !== undefined && (
        <TextField
          label="Alerts at (% of the budget)"
          name="thresholds"
          defaultValue={first.thresholds}
          error={errorOf('thresholds')}
          hint="Whole percentages from 1 to 100, with commas between them. Empty for no alerts."
        />
      )}
      <div className="form-grid">
        <TextField
          label="Requests a second"
          name="rate"
          type="number"
          min={1}
          required
          defaultValue={first.rate}
          error={errorOf('rate')}
        />
        <TextField
          label="Requests at once"
          name="burst"
          type="number"
          min={1}
          required
          defaultValue={first.burst}
          error={errorOf('burst')}
          hint="Above the rate."
        />
      </div>
      <TextField
        label="Expires"
        type="datetime-local"
        value={expires}
        onChange={(event) => setExpires(event.target.value)}
        error={errorOf('expires_at')}
        hint={expiryHint(expires)}
      />
      <ModelsField value={models} onChange={setModels} error={errorOf('models')} />
      {state.error !== null && !hasField && <Problem error={state.error} />}
      <div className="actions">
        <Button onPress={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" isDisabled={state.isPending}>
          {action}
        </Button>
      </div>
    </form>
  );
}

/** The fields whose text was changed. Other fields are not sent: their text may be shortened or out of date. */
function changesOf(first: Shown, last: Shown): KeyFields {
  const limit = last.limit.trim();
  const isBudget = limit !== first.limit || (limit !== '' && last.period !== first.period);
  const patterns = partsOf(last.models);
  return {
    ...(last.name !== first.name && { name: last.name.trim() || null }),
    ...(isBudget && { budget: limit === '' ? null : { limit, period: last.period } }),
    ...(last.thresholds !== first.thresholds && { thresholds: partsOf(last.thresholds).map(Number) }),
    ...(last.expires !== first.expires && { expires_at: last.expires === '' ? null : isoOfLocal(last.expires) }),
    ...(last.rate !== first.rate && { rate: Number(last.rate) }),
    ...(last.burst !== first.burst && { burst: Number(last.burst) }),
    ...(patterns.join() !== partsOf(first.models).join() && { models: patterns.length === 0 ? null : patterns }),
  };
}

function periodOf(text: string): Period {
  return text === 'day' || text === 'week' || text === 'total' ? text : 'month';
}

function expiryHint(local: string): string {
  if (local === '' || Number.isNaN(Date.parse(local)))
    return `In your time zone, ${timeZone}. Empty: the key does not expire.`;
  return `In your time zone, ${timeZone}: ${formatUtcMoment(isoOfLocal(local))}. The key is refused from then on.`;
}

interface ModelsFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

const mostOffered = 12;

/** Names of models, separated by commas. The models of the catalog can be clicked. */
function ModelsField({ value, onChange, error }: ModelsFieldProps) {
  const offered = useId();
  const catalog = useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models') });
  const chosen = partsOf(value);
  const ids = (catalog.data?.data ?? []).map(({ id }) => id).filter((id) => !chosen.includes(id));
  return (
    <div className="stack-tight">
      <TextField
        label="Models"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="All models"
        error={error}
        hint="Ids, separated by commas. org/* means all models of an organisation. Empty: all models."
      />
      {ids.length > 0 && (
        <div className="chips" role="group" aria-labelledby={offered}>
          <span className="visually-hidden" id={offered}>
            Models of the catalog
          </span>
          {ids.slice(0, mostOffered).map((id) => (
            <button
              key={id}
              type="button"
              className="chip"
              aria-label={`Add ${id}`}
              onClick={() => onChange([...chosen, id].join(', '))}
            >
              + {id}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
