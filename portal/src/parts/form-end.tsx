import { ApiError } from '../data/api.ts';
import { Button } from './button.tsx';
import { Problem } from './states.tsx';

/** The state of the request that a form sends. */
export interface FormState {
  readonly error: Error | null;
  readonly isPending: boolean;
}

/** The message for a field of a form, where the answer names the field or a part of it. */
function fieldErrors({ error }: FormState): (field: string) => string | undefined {
  return (field) => (error instanceof ApiError && error.field?.startsWith(field) === true ? error.message : undefined);
}

/** What a field of a form has: its name in the API, its first value, and the error that is about it. */
export type FieldOf<First> = <Name extends keyof First & string>(
  name: Name,
) => {
  readonly name: Name;
  readonly defaultValue: First[Name];
  readonly error: string | undefined;
};

/** The fields of a form, from their first values. */
export function fieldsOf<First extends object>(first: First, state: FormState): FieldOf<First> {
  const errorOf = fieldErrors(state);
  return (name) => ({ name, defaultValue: first[name], error: errorOf(name) });
}

interface FormEndProps {
  readonly action: string;
  readonly state: FormState;
  /** The fields that show their errors. */
  readonly fields: readonly string[];
  readonly onClose: () => void;
}

/** The end of a form: the error that no field shows, and the buttons. */
export function FormEnd({ action, state, fields, onClose }: FormEndProps) {
  const hasField = fields.some((field) => fieldErrors(state)(field) !== undefined);
  return (
    <>
      {state.error !== null && !hasField && <Problem error={state.error} />}
      <div className="actions">
        <Button onPress={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" isDisabled={state.isPending}>
          {action}
        </Button>
      </div>
    </>
  );
}
