import { type ReactNode, useEffect, useRef, useState } from 'react';

export interface Column<Row> {
  readonly title: string;
  /** Numbers are aligned to the end. */
  readonly end?: true;
  /** Names the row to a screen reader. */
  readonly names?: true;
  /** The title is hidden, for the column of buttons. */
  readonly bare?: true;
  /** The column stays in view while the table is scrolled. */
  readonly stays?: true;
  readonly cell: (row: Row) => ReactNode;
  /** The reader can sort by this value of a row: first the greatest number, or the first text. */
  readonly sortBy?: (row: Row) => number | string;
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

interface Order {
  readonly title: string;
  readonly direction: 'ascending' | 'descending';
}

/** Numbers begin with the greatest, texts with the first. A second click turns the order round. */
function nextOrder<Row>(
  order: Order | undefined,
  title: string,
  sortBy: (row: Row) => number | string,
  [first]: readonly Row[],
): Order {
  if (order?.title === title) return { title, direction: order.direction === 'ascending' ? 'descending' : 'ascending' };
  const isText = first !== undefined && typeof sortBy(first) === 'string';
  return { title, direction: isText ? 'ascending' : 'descending' };
}

function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | undefined,
): readonly Row[] {
  const sortBy = columns.find(({ title }) => title === order?.title)?.sortBy;
  if (order === undefined || sortBy === undefined) return rows;
  const sign = order.direction === 'ascending' ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [sortBy(one), sortBy(other)];
    return a === b ? 0 : a < b ? -sign : sign;
  });
}

/** A table in a box that scrolls if the table is wider than the page, by keyboard as well. A line above the table then says so. */
export function Table<Row>({ label, columns, rows, rowKey, isSelected, footer }: TableProps<Row>) {
  const { box, isWider } = useIsWider();
  const [order, setOrder] = useState<Order>();
  const sorted = sortedRows(rows, columns, order);
  return (
    <div className="table">
      {isWider && <p className="small muted scroll-hint">Scroll sideways to see all columns.</p>}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
      <div className="scroll" role="region" aria-label={label} tabIndex={0} ref={box}>
        <table aria-label={label}>
          <thead>
            <tr>
              {columns.map(({ title, end, bare, stays, sortBy }, at) => (
                <th
                  key={at}
                  scope="col"
                  className={end && 'end'}
                  data-stays={stays && ''}
                  aria-sort={order?.title === title ? order.direction : undefined}
                >
                  {bare ? (
                    <span className="visually-hidden">{title}</span>
                  ) : sortBy === undefined ? (
                    title
                  ) : (
                    <button
                      type="button"
                      className="sort"
                      onClick={() => setOrder(nextOrder(order, title, sortBy, rows))}
                    >
                      {title}
                      <span aria-hidden>
                        {order?.title !== title ? '' : order.direction === 'ascending' ? ' ↑' : ' ↓'}
                      </span>
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((row) => (
              <tr key={rowKey(row)} data-selected={isSelected?.(row) ? '' : undefined}>
                {columns.map(({ end, names, stays, cell }, at) =>
                  names ? (
                    <th key={at} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={at} className={end && 'end'} data-stays={stays && ''}>
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
