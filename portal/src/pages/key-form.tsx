import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import type { ModelList } from '../../../src/portal/api/catalog.ts';
import type { Key, NewKey } from '../../../src/portal/api/keys.ts';
import { ApiError, call } from '../data/api.ts';
import { Button } from '../parts/button.tsx';
import { Select, TextField, textOf } from '../parts/fields.tsx';
import { Problem } from '../parts/states.tsx';

interface KeyFormProps {
  readonly action: string;
  /** The key that is edited. */
  readonly of?: Key;
  readonly state: { readonly error: Error | null; readonly isPending: boolean };
  readonly onCancel: () => void;
  readonly onSubmit: (given: NewKey) => void;
}

const fields = ['name', 'budget', 'expires_at', 'models'] as const;

/** Name, budget, expiry and models of a key that is made or changed. */
export function KeyForm({ action, of, state, onCancel, onSubmit }: KeyFormProps) {
  const [models, setModels] = useState(of?.models?.join(', ') ?? '');
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit(readForm(new FormData(event.currentTarget), models));
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
        defaultValue={of?.name ?? ''}
        error={errorOf('name')}
        hint="What it is for."
      />
      <div className="form-grid">
        <TextField
          label="Budget (USD)"
          name="budget"
          inputMode="decimal"
          defaultValue={of?.budget?.limit ?? ''}
          placeholder="No limit"
          error={errorOf('budget')}
        />
        <Select
          label="Period"
          name="period"
          defaultValue={of?.budget?.period ?? 'month'}
          options={[
            { value: 'day', label: 'Day' },
            { value: 'week', label: 'Week' },
            { value: 'month', label: 'Month' },
            { value: 'total', label: 'In all' },
          ]}
        />
      </div>
      <TextField
        label="Expires"
        name="expires"
        type="date"
        defaultValue={dayOf(of?.expires_at ?? null)}
        error={errorOf('expires_at')}
        hint="The last day on which it works. Empty: it does not expire."
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

function readForm(form: FormData, models: string): NewKey {
  const day = textOf(form, 'expires');
  const patterns = models
    .split(',')
    .map((pattern) => pattern.trim())
    .filter(Boolean);
  return {
    name: textOf(form, 'name') || undefined,
    budget:
      textOf(form, 'budget') === ''
        ? null
        : { limit: textOf(form, 'budget'), period: periodOf(textOf(form, 'period')) },
    expires_at: day === '' ? null : endOf(day),
    models: patterns.length === 0 ? null : patterns,
  };
}

type Period = NonNullable<Key['budget']>['period'];

function periodOf(text: string): Period {
  return text === 'day' || text === 'week' || text === 'total' ? text : 'month';
}

/** The last moment of a day where the reader is. */
function endOf(day: string): string {
  return new Date(`${day}T23:59:59.999`).toISOString();
}

/** The day of a moment where the reader is, as a field for dates has it. */
function dayOf(iso: string | null): string {
  if (iso === null) return '';
  const moment = new Date(iso);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
}

interface ModelsFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

const mostOffered = 12;

/** Names of models with commas between them; those of the catalog are there to be clicked. */
function ModelsField({ value, onChange, error }: ModelsFieldProps) {
  const offered = useId();
  const catalog = useQuery({ queryKey: ['models'], queryFn: () => call<ModelList>('/models') });
  const chosen = value.split(',').map((pattern) => pattern.trim());
  const ids = (catalog.data?.data ?? []).map(({ id }) => id).filter((id) => !chosen.includes(id));
  return (
    <div className="stack-tight">
      <TextField
        label="Models"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="All models"
        error={error}
        hint="Ids with commas between them, or org/* for all of an organisation. Empty: all models."
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
              onClick={() => onChange([...chosen.filter(Boolean), id].join(', '))}
            >
              + {id}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
