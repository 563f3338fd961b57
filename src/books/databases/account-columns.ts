import type { Generated, Selectable } from 'kysely';
import {
  type AccountChange,
  type AccountField,
  type AccountFields,
  type AccountValues,
  type Apart,
  heldFields,
  type KeyWith,
  type KindValue,
  type Optional,
  type ValueOfField,
} from '../../core/account-field.ts';
import { type Cell, cellOf, valueOfCell } from '../core/field-kinds.ts';

// The columns of the fields of an account, derived from their table. A migration adds them.

type Budget = { readonly kind: 'budget' };

/** A column that may be missing in a new row: null, or the default of the table. */
type Column<Field, Value> = Field extends Optional
  ? Field extends { readonly default: unknown }
    ? Generated<Value>
    : Value | null
  : Value;

/** The columns of a table that keeps these fields. */
export type ColumnsOf<Fields extends AccountFields> = {
  readonly [Key in Exclude<keyof Fields, KeyWith<Fields, Apart | Budget>> as Fields[Key]['name']]: Column<
    Fields[Key],
    Fields[Key] extends { readonly kind: 'count' | 'money' | 'moment' }
      ? bigint
      : Fields[Key] extends { readonly kind: 'name' }
        ? ValueOfField<Fields[Key]>
        : string
  >;
} & {
  readonly [Key in KeyWith<Fields, Budget> as `${Fields[Key]['name']}_limit`]: Column<Fields[Key], bigint>;
} & {
  readonly [Key in KeyWith<Fields, Budget> as `${Fields[Key]['name']}_period`]: Column<
    Fields[Key],
    (ValueOfField<Fields[Key]> & KindValue['budget'])['period']
  >;
};

/** The columns of fields. One that is absent gets its default, or null. */
export function columnsOf<Fields extends AccountFields>(
  fields: Fields,
  values: AccountValues<Fields>,
): Selectable<ColumnsOf<Fields>>;
export function columnsOf<Fields extends AccountFields>(
  fields: Partial<Fields>,
  values: AccountChange<Fields>,
): Partial<Selectable<ColumnsOf<Fields>>>;
export function columnsOf(fields: Partial<AccountFields>, values: object): object {
  return Object.fromEntries(
    heldFields(fields, values).flatMap((field): readonly (readonly [string, unknown])[] =>
      field.kind === 'budget'
        ? [
            [`${field.name}_limit`, field.value?.limit ?? null],
            [`${field.name}_period`, field.value?.period ?? null],
          ]
        : [[field.name, cellOf(field) ?? null]],
    ),
  );
}

/** The fields of a row. */
export function fieldsOfRow<Fields extends AccountFields>(
  fields: Fields,
  row: Selectable<ColumnsOf<Fields>>,
): AccountValues<Fields> {
  const cells = new Map<string, Cell | null>(Object.entries(row));
  const values = Object.entries(fields)
    .filter(([, { kind }]) => kind !== 'thresholds')
    .map(([key, field]) => [key, valueOf(field, cells)]);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the types of the row and of the values are made of the same table
  return Object.fromEntries(values) as AccountValues<Fields>;
}

function valueOf(
  { name, kind, optional, default: usual }: AccountField,
  cells: ReadonlyMap<string, Cell | null>,
): unknown {
  const cell = cells.get(kind === 'budget' ? `${name}_limit` : name) ?? null;
  if (cell === null || (optional === true && cell === usual)) return undefined;
  if (kind === 'budget') return { limit: cell, period: cells.get(`${name}_period`) };
  return kind === 'thresholds' ? undefined : valueOfCell(kind, cell);
}
