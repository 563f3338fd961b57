/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role -- Without them a browser forgets the table where CSS makes cards of its rows. */
import { memo, type ReactNode, useCallback, useMemo, useState } from 'react';
import { useMedia } from './media.ts';

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
  /**
   * On a phone a row is a card of two lines: the line of this cell. The name of the row begins the first one. Without any
   * line in a table, the next three cells have one. The others open with *More*.
   */
  readonly line?: 1 | 2;
  readonly cell: (row: Row) => ReactNode;
  /** The reader can sort by this value of a row: first the greatest number, or the first text. */
  readonly sortBy?: (row: Row) => number | string;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Shown in place of a table without rows. */
  readonly empty?: ReactNode;
  readonly rowKey: (row: Row) => string;
  readonly isSelected?: (row: Row) => boolean;
  /** The cells of a last row. */
  readonly footer?: ReactNode;
  /** The rows of a wide window are 24 pixels high. */
  readonly isLow?: boolean;
}

/** Whether the content of a box is wider than the box. */
function useIsWider() {
  const [isWider, setWider] = useState(false);
  const box = useCallback((element: HTMLDivElement) => {
    const observer = new ResizeObserver(() => setWider(element.scrollWidth > element.clientWidth));
    for (const watched of [element, ...element.children]) observer.observe(watched);
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

/** The lines of the cells of a card, by their places. */
function linesOf<Row>(columns: readonly Column<Row>[]): readonly (1 | 2 | undefined)[] {
  if (columns.some(({ line }) => line !== undefined)) return columns.map(({ line }) => line);
  const [first, ...next] = columns.filter(({ names, bare }) => !names && !bare).slice(0, 3);
  return columns.map((column) => (column === first ? 1 : next.includes(column) ? 2 : undefined));
}

/**
 * A table in a box that scrolls if the table is wider than the page, by keyboard as well. A line above the table then
 * says so. On a phone its rows are cards of two lines, and nothing scrolls: roles keep it a table for screen readers.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  empty,
  rowKey,
  isSelected,
  footer,
  isLow = false,
}: TableProps<Row>) {
  const { box, isWider } = useIsWider();
  const isPhone = useMedia('(max-width: 600px)');
  const [order, setOrder] = useState<Order>();
  const lines = useMemo(() => linesOf(columns), [columns]);
  if (empty !== undefined && rows.length === 0) return empty;
  const hasMore = isPhone && columns.some(({ names, bare }, at) => !names && !bare && lines[at] === undefined);
  return (
    <div className="table" data-low={isLow ? '' : undefined}>
      {isWider && <p className="small muted scroll-hint">Scroll sideways to see all columns.</p>}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
      <div className="scroll" role="region" aria-label={label} tabIndex={0} ref={box}>
        <table role="table" aria-label={label}>
          <thead role="rowgroup">
            <tr role="row">
              {columns.map((column, at) => (
                <Head
                  key={at}
                  of={column}
                  direction={order?.title === column.title ? order.direction : undefined}
                  onSort={(sortBy) => setOrder(nextOrder(order, column.title, sortBy, rows))}
                />
              ))}
              {hasMore && <Head of={{ title: 'More', bare: true }} />}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {sortedRows(rows, columns, order).map((row) => (
              <Cells key={rowKey(row)} isSelected={isSelected?.(row) === true} {...{ row, columns, lines, hasMore }} />
            ))}
          </tbody>
          {footer && (
            <tfoot role="rowgroup">
              <tr role="row">{footer}</tr>
            </tfoot>
          )}
        </table>
      </div>
    </div>
  );
}

interface HeadProps<Row> {
  readonly of: Pick<Column<Row>, 'title' | 'end' | 'bare' | 'stays' | 'sortBy'>;
  readonly direction?: Order['direction'] | undefined;
  readonly onSort?: (sortBy: NonNullable<Column<Row>['sortBy']>) => void;
}

function Head<Row>({ of: { title, end, bare, stays, sortBy }, direction, onSort }: HeadProps<Row>) {
  return (
    <th role="columnheader" scope="col" className={end && 'end'} data-stays={stays && ''} aria-sort={direction}>
      {bare ? (
        <span className="visually-hidden">{title}</span>
      ) : sortBy === undefined ? (
        title
      ) : (
        <button type="button" className="sort" onClick={() => onSort?.(sortBy)}>
          {title}
          <span aria-hidden>{direction === undefined ? '' : direction === 'ascending' ? ' ↑' : ' ↓'}</span>
        </button>
      )}
    </th>
  );
}

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly lines: readonly (1 | 2 | undefined)[];
  readonly hasMore: boolean;
  readonly isSelected: boolean;
}

/** React's own type loses the type of the row. */
const memoised: <Props extends object>(component: (props: Props) => ReactNode) => (props: Props) => ReactNode = memo;

/** Rendered again only when it changes: a page that opens a sheet and keeps its columns renders the selected row alone. */
const Cells = memoised(function Cells<Row>({ row, columns, lines, hasMore, isSelected }: CellsProps<Row>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <tr role="row" data-selected={isSelected ? '' : undefined} data-open={isOpen ? '' : undefined}>
      {columns.map(({ title, end, names, bare, stays, cell }, at) =>
        names ? (
          <th key={at} role="rowheader" scope="row">
            {cell(row)}
          </th>
        ) : (
          <td
            key={at}
            role="cell"
            className={end && 'end'}
            data-stays={stays && ''}
            data-line={lines[at] ?? (bare && 'end')}
            data-title={title}
          >
            {cell(row)}
          </td>
        ),
      )}
      {hasMore && (
        <td role="cell" data-line="end">
          <button type="button" className="sort" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Less' : 'More'}
          </button>
        </td>
      )}
    </tr>
  );
});
