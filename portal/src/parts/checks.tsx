import { useId } from 'react';
import { FieldNotes } from './fields.tsx';

interface ChecksProps {
  readonly legend: string;
  readonly name: string;
  /** What can be checked, with its words. */
  readonly options: Readonly<Record<string, string>>;
  readonly defaultValue: readonly string[] | null | undefined;
  readonly hint: string;
  readonly error: string | undefined;
}

/** Boxes of which any number is checked. */
export function Checks({ legend, name, options, defaultValue, hint, error }: ChecksProps) {
  const id = useId();
  const described = error === undefined ? `${id}-hint` : `${id}-hint ${id}-error`;
  return (
    <fieldset className="field" aria-describedby={described}>
      <legend className="label">{legend}</legend>
      <div className="checks">
        {Object.entries(options).map(([value, words]) => (
          <label key={value}>
            <input type="checkbox" name={name} value={value} defaultChecked={defaultValue?.includes(value)} />
            {words}
          </label>
        ))}
      </div>
      <FieldNotes id={id} hint={hint} error={error} />
    </fieldset>
  );
}
