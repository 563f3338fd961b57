import { type FormEvent, useState } from 'react';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { formatUtcMoment, timeZone } from '../format/format.ts';
import { isoOfLocal, localMinute } from '../format/local-minute.ts';
import { changedFields, partsOf, TextField } from '../parts/fields.tsx';
import { fieldsOf, FormEnd, type FormState } from '../parts/form-end.tsx';
import { type ChangedLimits, changedLimits, LimitFields, limitTexts } from './limit-fields.tsx';

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

/** The values of fields in the API. */
const values = {
  name: (text: string) => text || null,
  thresholds: (text: string) => partsOf(text).map(Number),
  expires_at: (text: string) => (text === '' ? null : isoOfLocal(text)),
};

/** Form for name, budget, limits, expiry and models of a new or existing key. */
export function KeyForm({ action, of, state, onCancel, onSubmit }: KeyFormProps) {
  // The values that the form showed at first, also if the key changes meanwhile.
  const [first] = useState(() => ({
    name: of?.name ?? '',
    thresholds: of?.thresholds.join(', ') ?? '',
    // A moment in the reader's zone, to the minute. Empty: none.
    expires_at: localMinute(of?.expires_at ?? null),
    ...limitTexts(of),
  }));
  const [expires, setExpires] = useState(first.expires_at);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    onSubmit({ ...changedFields(form, first, values), ...changedLimits(form, first) });
  };
  const fieldOf = fieldsOf(first, state);
  return (
    <form className="stack" onSubmit={submit}>
      <TextField label="Name" maxLength={100} autoFocus hint="Purpose of the key." {...fieldOf('name')} />
      <LimitFields
        fieldOf={fieldOf}
        alerts={
          of !== undefined && (
            <TextField
              label="Alerts at (% of the budget)"
              hint="Whole percentages from 1 to 100, with commas between them. Empty for no alerts."
              {...fieldOf('thresholds')}
            />
          )
        }
      >
        <TextField
          label="Expires"
          type="datetime-local"
          onChange={(event) => setExpires(event.target.value)}
          hint={expiryHint(expires)}
          {...fieldOf('expires_at')}
        />
      </LimitFields>
      <FormEnd action={action} state={state} fields={Object.keys(first)} onClose={onCancel} />
    </form>
  );
}

function expiryHint(local: string): string {
  if (local === '' || Number.isNaN(Date.parse(local)))
    return `In your time zone, ${timeZone}. Empty: the key does not expire.`;
  return `In your time zone, ${timeZone}: ${formatUtcMoment(isoOfLocal(local))}. Weir refuses the key after this time.`;
}
