import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import type { ModelListObject } from '../../../src/portal/api/catalog.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { call } from '../data/api.ts';
import { partsOf, Select, TextField, textOf, valueOf } from '../parts/fields.tsx';
import { changedNotEnforced, limitsOfKey, NotEnforced } from './not-enforced.tsx';

type Period = NonNullable<KeyObject['budget']>['period'];

/** The limits that differ from the first values of a form. Null removes a value. */
export interface ChangedLimits {
  readonly budget?: { readonly limit: string; readonly period: Period } | null;
  readonly models?: string[] | null;
  readonly rate?: number;
  readonly burst?: number;
  readonly tokens_per_minute?: number | null;
  readonly not_enforced?: NonNullable<KeyObject['not_enforced']> | null;
}

/** The names of the limits in the API. */
export const limitNames = ['budget', 'models', 'rate', 'burst', 'tokens_per_minute', 'not_enforced'] as const;

/** The values of the form. */
interface LimitTexts {
  readonly limit: string;
  readonly period: Period;
  readonly models: string;
  readonly rate: string;
  readonly burst: string;
  readonly tokens: string;
  readonly notEnforced: readonly string[];
}

/** The limits of a new key without others, as in `src/portal/api/keys.ts`. */
const [usualRate, usualBurst] = [100, 200];

/** A limit that need not be there, as a field has it. */
export const countText = (count: number | null | undefined): string => String(count ?? '');
export const countOf = (text: string): number | null => (text === '' ? null : Number(text));

export const limitTexts = (of: Pick<KeyObject, (typeof limitNames)[number]> | undefined): LimitTexts => ({
  limit: of?.budget?.limit ?? '',
  period: of?.budget?.period ?? 'month',
  models: of?.models?.join(', ') ?? '',
  rate: String(of?.rate ?? usualRate),
  burst: String(of?.burst ?? usualBurst),
  tokens: countText(of?.tokens_per_minute),
  notEnforced: of?.not_enforced ?? [],
});

/** The limits whose text was changed. Others are not sent: their text may be out of date. */
export function changedLimits(first: LimitTexts, form: FormData): ChangedLimits {
  const [limit, period] = [textOf(form, 'budget'), periodOf(valueOf(form, 'period'))];
  const [rate, burst] = [valueOf(form, 'rate'), valueOf(form, 'burst')];
  const tokens = textOf(form, 'tokens_per_minute');
  const isBudget = limit !== first.limit || (limit !== '' && period !== first.period);
  const patterns = partsOf(valueOf(form, 'models'));
  return {
    ...(isBudget && { budget: limit === '' ? null : { limit, period } }),
    ...(rate !== first.rate && { rate: Number(rate) }),
    ...(burst !== first.burst && { burst: Number(burst) }),
    ...(tokens !== first.tokens && { tokens_per_minute: countOf(tokens) }),
    ...changedNotEnforced(limitsOfKey, first.notEnforced, form),
    ...(patterns.join() !== partsOf(first.models).join() && { models: patterns.length === 0 ? null : patterns }),
  };
}

export function periodOf(text: string): Period {
  return text === 'day' || text === 'week' || text === 'total' ? text : 'month';
}

interface LimitFieldsProps {
  readonly first: LimitTexts;
  readonly errorOf: (field: string) => string | undefined;
  /** Below the budget. */
  readonly alerts?: ReactNode;
  /** Above the models. */
  readonly children?: ReactNode;
}

/** The fields of limits, the same for a key and for an identity. */
export function LimitFields({ first, errorOf, alerts, children }: LimitFieldsProps) {
  return (
    <>
      <div className="form-grid">
        <TextField
          label="Budget (USD)"
          name="budget"
          inputMode="decimal"
          defaultValue={first.limit}
          placeholder="No limit"
          error={errorOf('budget')}
        />
        <PeriodField first={first.period} />
      </div>
      {alerts}
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
      <TokensField first={first.tokens} error={errorOf('tokens_per_minute')} />
      <NotEnforced limits={limitsOfKey} first={first.notEnforced} error={errorOf('not_enforced')} />
      {children}
      <ModelsField first={first.models} error={errorOf('models')} />
    </>
  );
}

/** The period of a budget. */
export function PeriodField({ first }: { readonly first: Period }) {
  return (
    <Select
      label="Period"
      name="period"
      defaultValue={first}
      options={[
        { value: 'day', label: 'Day' },
        { value: 'week', label: 'Week' },
        { value: 'month', label: 'Month' },
        { value: 'total', label: 'In all' },
      ]}
    />
  );
}

/** A limit in tokens a minute, of a key, an identity or a workspace. */
export function TokensField({ first, error }: { readonly first: string; readonly error: string | undefined }) {
  return (
    <TextField
      label="Tokens a minute"
      name="tokens_per_minute"
      type="number"
      min={1}
      defaultValue={first}
      placeholder="No limit"
      error={error}
      hint="Prompts and answers together."
    />
  );
}

const mostOffered = 12;

/** Names of models, separated by commas. The models of the catalog can be clicked. */
function ModelsField({ first, error }: { readonly first: string; readonly error: string | undefined }) {
  const [value, setValue] = useState(first);
  const offered = useId();
  const catalog = useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models') });
  const chosen = partsOf(value);
  const ids = (catalog.data?.data ?? []).map(({ id }) => id).filter((id) => !chosen.includes(id));
  return (
    <div className="stack-tight">
      <TextField
        label="Models"
        name="models"
        value={value}
        onChange={(event) => setValue(event.target.value)}
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
              onClick={() => setValue([...chosen, id].join(', '))}
            >
              + {id}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
