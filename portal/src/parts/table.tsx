import { type ReactNode, useEffect, useRef, useState } from 'react';

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

/** Whether the content of a box is wider than the box. */
function useIsWider() {
  const box = useRef<HTMLDivElement>(null);
  const [isWider, setWider] = useState(false);
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const observer = new ResizeObserver(() => setWider(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    if (current.firstElementChild !== null) observer.observe(current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return { box, isWider };
}

/** A table in a box that scrolls if the table is wider than the page, by keyboard as well. A line above the table then says so. */
export function Table<Row>({ label, columns, rows, rowKey, isSelected, footer }: TableProps<Row>) {
  const { box, isWider } = useIsWider();
  return (
    <div className="table">
      {isWider && <p className="small muted scroll-hint">Scroll sideways to see all columns.</p>}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
      <div className="scroll" role="region" aria-label={label} tabIndex={0} ref={box}>
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
    </div>
  );
}
