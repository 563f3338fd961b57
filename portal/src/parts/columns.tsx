import { useState } from 'react';
import type { Column } from './table.tsx';

interface ColumnChoiceProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

/** Shows and hides columns of a table. The column that names the rows always stays. */
export function ColumnChoice<Row>({ columns, hidden, onChange }: ColumnChoiceProps<Row>) {
  const [isOpen, setOpen] = useState(false);
  const change = (title: string, isShown: boolean): void => {
    const next = new Set(hidden);
    if (isShown) next.delete(title);
    else next.add(title);
    onChange(next);
  };
  return (
    <details className="column-choice" onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>Columns</summary>
      {isOpen && (
        <fieldset>
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
      )}
    </details>
  );
}

/** The hidden columns of a table by their titles. The browser keeps them under this name. */
export function useHiddenColumns(name: string) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set(read(name)));
  const change = (next: ReadonlySet<string>): void => {
    setHidden(next);
    localStorage.setItem(`columns.${name}`, [...next].join('\n'));
  };
  return [hidden, change] as const;
}

function read(name: string): readonly string[] {
  return (localStorage.getItem(`columns.${name}`) ?? '').split('\n').filter(Boolean);
}
