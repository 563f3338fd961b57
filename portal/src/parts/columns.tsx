import { useState } from 'react';
import { Details } from './details.tsx';
import { linesOf } from './fields.tsx';
import type { Column } from './table.tsx';

interface ColumnChoiceProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

/** Shows and hides columns of a table. The column that names the rows always stays. */
export function ColumnChoice<Row>({ columns, hidden, onChange }: ColumnChoiceProps<Row>) {
  const change = (title: string, isShown: boolean): void => {
    const next = new Set(hidden);
    if (isShown) next.delete(title);
    else next.add(title);
    onChange(next);
  };
  return (
    <Details title="Columns" className="column-choice">
      <fieldset className="card checks">
        <legend className="visually-hidden">Shown columns</legend>
        {columns
          .filter(({ names }) => names !== true)
          .map(({ title }) => (
            <label key={title}>
              <input
                type="checkbox"
                checked={!hidden.has(title)}
                onChange={(event) => change(title, event.target.checked)}
              />
              {title}
            </label>
          ))}
      </fieldset>
    </Details>
  );
}

/** The hidden columns of a table by their titles. The browser keeps them under this name. */
export function useHiddenColumns(name: string) {
  const kept = `columns.${name}`;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set(linesOf(localStorage.getItem(kept) ?? '')));
  const change = (next: ReadonlySet<string>): void => {
    setHidden(next);
    localStorage.setItem(kept, [...next].join('\n'));
  };
  return [hidden, change] as const;
}
