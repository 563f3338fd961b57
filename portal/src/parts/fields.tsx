import { type ComponentProps, type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

interface Described extends FieldProps {
  readonly children: (described: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': true | undefined;
  }) => ReactNode;
}

function Field({ label, hint, error, children }: Described) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': described.filter(Boolean).join(' ') || undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      <FieldNotes id={id} hint={hint} error={error} />
    </div>
  );
}

interface FieldNotesProps extends Pick<FieldProps, 'hint' | 'error'> {
  /** Of the field that they describe: theirs end in `-hint` and `-error`. */
  readonly id: string;
}

/** The hint and the error below a field. */
export function FieldNotes({ id, hint, error }: FieldNotesProps) {
  return (
    <>
      {hint !== undefined && (
        <span className="small muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error !== undefined && (
        <span className="field-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </>
  );
}

export function TextField({ label, hint, error, ...rest }: FieldProps & ComponentProps<'input'>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => <input className="input" autoComplete="off" spellCheck={false} {...rest} {...described} />}
    </Field>
  );
}

export function TextArea({ label, hint, error, ...rest }: FieldProps & ComponentProps<'textarea'>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => <textarea className="input" {...rest} {...described} />}
    </Field>
  );
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** Values that are their own labels. */
export const optionsOf = (values: Iterable<string>): readonly Option[] =>
  Array.from(values, (value) => ({ value, label: value }));

interface SelectProps extends FieldProps, Omit<ComponentProps<'select'>, 'onChange'> {
  readonly options: readonly Option[];
  readonly onChange?: (value: string) => void;
}

/** The browser's own list, which works best on phones and with screen readers. */
export function Select({ label, hint, error, options, onChange, ...rest }: SelectProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => (
        <select className="input" {...rest} {...described} onChange={(event) => onChange?.(event.target.value)}>
          {options.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The value of a form field. */
export function valueOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** The value of a text field, trimmed. */
export const textOf = (form: FormData, name: string): string => valueOf(form, name).trim();

/** The values that differ from those of the first texts. Others are not sent: their text may be shortened or out of date. */
export function changedFields<Values extends Readonly<Record<string, (text: string) => unknown>>>(
  form: FormData,
  first: Readonly<Record<keyof Values & string, string>>,
  values: Values,
) {
  const changed = Object.entries(values).flatMap(([name, read]) => {
    const [was, is] = [read(first[name]?.trim() ?? ''), read(textOf(form, name))];
    return form.has(name) && JSON.stringify(was) !== JSON.stringify(is) ? [[name, is] as const] : [];
  });
  return Object.fromEntries(changed) as { readonly [Name in keyof Values]?: ReturnType<Values[Name]> };
}

/** Names and their values, in the form in which a field takes them. */
export const pairsText = (of: object | null | undefined, sets = '=', between = '\n'): string =>
  Object.entries(of ?? {})
    .map((pair) => pair.join(sets))
    .join(between);

const splitBy = (separator: string) => (text: string) =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);

/** The lines of a text, trimmed. Empty lines are left out. */
export const linesOf = splitBy('\n');

/** The parts of a text with commas, trimmed. Empty parts are left out. */
export const partsOf = splitBy(',');
