import { type FormEvent, useState } from 'react';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { formatUtcMoment, timeZone } from '../format/format.ts';
import { isoOfLocal, localMinute } from '../format/local-minute.ts';
import { partsOf, TextField, valueOf } from '../parts/fields.tsx';
import { fieldErrors, FormEnd, type FormState } from '../parts/form-end.tsx';
import { type ChangedLimits, changedLimits, LimitFields, limitNames, limitTexts } from './limit-fields.tsx';

interface KeyFormProps {
  readonly action: string;
  /** The key that is edited. */
  readonly of?: KeyObject;
  readonly state: FormState;
  readonly onCancel: () => void;
  readonly onSubmit: (changed: KeyFields) => void;
}

/** The fields that differ from the first values of the form. Null removes a value. */
export interface KeyFields extends ChangedLimits {
  readonly name?: string | null;
  readonly thresholds?: number[];
  readonly expires_at?: string | null;
}

const fields = ['name', 'thresholds', 'expires_at', ...limitNames];

/** Form for name, budget, limits, expiry and models of a new or existing key. */
export function KeyForm({ action, of, state, onCancel, onSubmit }: KeyFormProps) {
  // The values that the form showed at first, also if the key changes meanwhile.
  const [first] = useState(() => ({
    name: of?.name ?? '',
    thresholds: of?.thresholds.join(', ') ?? '',
    // A moment in the reader's zone, to the minute. Empty: none.
    expires: localMinute(of?.expires_at ?? null),
    limits: limitTexts(of),
  }));
  const [expires, setExpires] = useState(first.expires);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = valueOf(form, 'name');
    const thresholds = valueOf(form, 'thresholds');
    // Other fields are not sent: their text may be shortened or out of date.
    onSubmit({
      ...(name !== first.name && { name: name.trim() || null }),
      ...(of !== undefined && thresholds !== first.thresholds && { thresholds: partsOf(thresholds).map(Number) }),
      ...(expires !== first.expires && { expires_at: expires === '' ? null : isoOfLocal(expires) }),
      ...changedLimits(first.limits, form),
    });
  };
  const errorOf = fieldErrors(state);
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
      <LimitFields
        first={first.limits}
        errorOf={errorOf}
        alerts={
          of !== undefined && (
            <TextField
              label="Alerts at (% of the budget)"
              name="thresholds"
              defaultValue={first.thresholds}
              error={errorOf('thresholds')}
              hint="Whole percentages from 1 to 100, with commas between them. Empty for no alerts."
            />
          )
        }
      >
        <TextField
          label="Expires"
          type="datetime-local"
          value={expires}
          onChange={(event) => setExpires(event.target.value)}
          error={errorOf('expires_at')}
          hint={expiryHint(expires)}
        />
      </LimitFields>
      <FormEnd action={action} state={state} fields={fields} onClose={onCancel} />
    </form>
  );
}

function expiryHint(local: string): string {
  if (local === '' || Number.isNaN(Date.parse(local)))
    return `In your time zone, ${timeZone}. Empty: the key does not expire.`;
  return `In your time zone, ${timeZone}: ${formatUtcMoment(isoOfLocal(local))}. The key is refused from then on.`;
}
