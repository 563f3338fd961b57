import type { HeldField, HeldKind, KindValue } from '../../core/account-field.ts';
import { formatUsd } from '../../core/money.ts';

// The forms of the values of accounts, by the kind of their field. A budget has two columns, and its own code there.

/** What a column has. */
export type Cell = string | number | bigint;

interface Forms<Value> {
  /** In its column. Undefined: there is nothing to keep. */
  readonly cell: (value: Value) => string | bigint | undefined;
  readonly ofCell: (cell: Cell) => unknown;
  /** In the audit trail, in the admin API, and in what commands print. */
  readonly shown: (value: Value) => unknown;
}

const same = <Value>(value: Value): Value => value;
const integer = { cell: BigInt, ofCell: Number };
const list = {
  cell: (parts: readonly string[]) => (parts.length === 0 ? undefined : parts.join(',')),
  ofCell: (cell: Cell) => `${cell}`.split(','),
  shown: (parts: readonly string[]) => [...parts],
};
const plain = { cell: same<string>, ofCell: same<Cell>, shown: same<string> };

type InOneColumn = Exclude<HeldKind, 'budget'>;
const forms: { readonly [Kind in InOneColumn]: Forms<KindValue[Kind]> } = {
  text: plain,
  name: plain,
  names: list,
  count: { ...integer, shown: same },
  moment: { ...integer, shown: isoOf },
  money: { cell: same, ofCell: same, shown: formatUsd },
  models: list,
  labels: { cell: recordText, ofCell: (cell) => JSON.parse(`${cell}`), shown: same },
  'tag-counts': { cell: recordText, ofCell: (cell) => JSON.parse(`${cell}`), shown: same },
};

export const cellOf = <Kind extends InOneColumn>({ kind, value }: HeldField<Kind>): string | bigint | undefined =>
  value === undefined ? undefined : forms[kind].cell(value);

export const valueOfCell = (kind: InOneColumn, cell: Cell): unknown => forms[kind].ofCell(cell);

export function shownValue(field: HeldField): unknown {
  if (field.kind !== 'budget') return shownInOne(field);
  return field.value && shownBudget(field.value);
}

const shownInOne = <Kind extends InOneColumn>({ kind, value }: HeldField<Kind>): unknown =>
  value === undefined ? undefined : forms[kind].shown(value);

export function shownBudget<Period extends string>({
  limit,
  period,
}: {
  readonly limit: bigint;
  readonly period: Period;
}) {
  return { limit: formatUsd(limit), period };
}

export function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}

/** In the order of the names, so that equal records are equal texts. */
function recordText(record: KindValue['labels' | 'tag-counts']): string | undefined {
  const entries = Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries));
}
