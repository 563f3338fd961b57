import { type ComponentProps, type ReactNode, useId, useState } from 'react';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { useModels } from '../data/models.ts';
import { changedFields, partsOf, Select, TextField, textOf, valueOf } from '../parts/fields.tsx';
import type { FieldOf } from '../parts/form-end.tsx';
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

type Limits = Pick<KeyObject, 'budget' | 'models' | 'rate' | 'burst' | 'tokens_per_minute' | 'not_enforced'>;

/** The limits of a new key without others, as in `src/portal/api/keys.ts`. */
const [usualRate, usualBurst] = [100, 200];

/** A limit that need not be there, as a field has it. */
export const countText = (count: number | null | undefined): string => String(count ?? '');
export const countOf = (text: string): number | null => (text === '' ? null : Number(text));

/** The first values of the fields. */
export const limitTexts = (of: Limits | undefined) => ({
  budget: of?.budget?.limit ?? '',
  period: of?.budget?.period ?? 'month',
  models: of?.models?.join(', ') ?? '',
  rate: String(of?.rate ?? usualRate),
  burst: String(of?.burst ?? usualBurst),
  tokens_per_minute: countText(of?.tokens_per_minute),
  not_enforced: of?.not_enforced,
});

type LimitTexts = ReturnType<typeof limitTexts>;

/** The values of fields in the API. */
const values = {
  rate: Number,
  burst: Number,
  tokens_per_minute: countOf,
  models: (text: string) => (partsOf(text).length === 0 ? null : partsOf(text)),
};

/** The limits that were changed. */
export function changedLimits(form: FormData, first: LimitTexts): ChangedLimits {
  const { limit, period } = budgetOf(form);
  const isBudget = limit !== first.budget || (limit !== '' && period !== first.period);
  return {
    ...(isBudget && { budget: limit === '' ? null : { limit, period } }),
    ...changedFields(form, first, values),
    ...changedNotEnforced(limitsOfKey, first.not_enforced, form),
  };
}

/** The budget of a form, also without a limit. */
export function budgetOf(form: FormData): { readonly limit: string; readonly period: Period } {
  const period = periods.find(({ value }) => value === valueOf(form, 'period'))?.value ?? 'month';
  return { limit: textOf(form, 'budget'), period };
}

interface LimitFieldsProps {
  readonly fieldOf: FieldOf<LimitTexts>;
  /** Below the budget. */
  readonly alerts?: ReactNode;
  /** Above the models. */
  readonly children?: ReactNode;
}

/** The fields of limits, the same for a key and for an identity. */
export function LimitFields({ fieldOf, alerts, children }: LimitFieldsProps) {
  return (
    <>
      <div className="form-grid">
        <TextField label="Budget (USD)" inputMode="decimal" placeholder="No limit" {...fieldOf('budget')} />
        <Select label="Period" options={periods} {...fieldOf('period')} />
      </div>
      {alerts}
      <div className="form-grid">
        <TextField label="Requests a second" type="number" min={1} required {...fieldOf('rate')} />
        <TextField
          label="Requests at once"
          type="number"
          min={1}
          required
          hint="Above the rate."
          {...fieldOf('burst')}
        />
      </div>
      <TokensField {...fieldOf('tokens_per_minute')} />
      <NotEnforced limits={limitsOfKey} {...fieldOf('not_enforced')} />
      {children}
      <ModelsField {...fieldOf('models')} />
    </>
  );
}

/** The periods of a budget. */
export const periods = [
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week' },
  { value: 'month', label: 'Month' },
  { value: 'total', label: 'In all' },
] as const satisfies readonly { readonly value: Period; readonly label: string }[];

/** A limit in tokens a minute, of a key, an identity or a workspace. */
export function TokensField(field: Pick<ComponentProps<typeof TextField>, 'name' | 'defaultValue' | 'error'>) {
  return (
    <TextField
      label="Tokens a minute"
      type="number"
      min={1}
      placeholder="No limit"
      hint="Prompts and answers together."
      {...field}
    />
  );
}

const mostOffered = 12;

/** Names of models, separated by commas. The models of the catalog can be clicked. */
function ModelsField({ defaultValue: first, ...field }: ReturnType<FieldOf<Pick<LimitTexts, 'models'>>>) {
  const [value, setValue] = useState(first);
  const offered = useId();
  const catalog = useModels();
  const chosen = partsOf(value);
  const ids = (catalog.data?.data ?? []).map(({ id }) => id).filter((id) => !chosen.includes(id));
  return (
    <div className="stack-tight">
      <TextField
        label="Models"
        {...field}
        value={value}
        onChange={(event) => setValue(event.target.value)}
        placeholder="All models"
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
