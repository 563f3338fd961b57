import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly title: string;
  /** Numbers are aligned to the end. */
  readonly end?: true;
  /** Names the row to a screen reader. */
  readonly names?: true;
  /** The title is hidden, for the column of buttons. */
  readonly bare?: true;
  readonly cell: (row: Row) => ReactNode;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly isSelected?: (row: Row) => boolean;
  readonly footer?: ReactNode;
}

/** A table in a box that scrolls if the table is wider than the page, by keyboard as well. */
export function Table<Row>({ label, columns, rows, rowKey, isSelected, footer }: TableProps<Row>) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard.
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, end, bare }, at) => (
              <th key={at} scope="col" className={end && 'end'}>
                {bare ? <span className="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} data-selected={isSelected?.(row) ? '' : undefined}>
              {columns.map(({ end, names, cell }, at) =>
                names ? (
                  <th key={at} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={at} className={end && 'end'}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
        {footer}
      </table>
    </div>
  );
}
