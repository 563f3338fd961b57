import type { Thresholds } from './alert.ts';
import type { ModelPatterns } from './model-patterns.ts';
import type { Money } from './money.ts';

/**
 * One field of an account. All that reads or writes accounts is derived from tables of fields or compared with them: types, rows,
 * the audit trail, objects of the admin API with the rights that their fields need, options of commands, custom resources.
 */
export type AccountField = {
  /** Name in the admin API, in the audit trail and of the column. A budget has two columns. */
  readonly name: string;
  /** It may be absent. */
  readonly optional?: true;
  /** What it is where nothing was set. */
  readonly default?: number | bigint;
  /** In the admin API: of what it answers with and of what callers give, or of one of them. */
  readonly about?: string;
  readonly shown?: string;
  readonly given?: string;
  readonly example?: number | string;
  /** `change`: callers set it when the account exists. `object`: no route of the account sets it. Undefined: also at the start. */
  readonly setBy?: 'change' | 'object';
  /** The right that setting it needs, besides that of the route. */
  readonly right?: string;
  /** Of an option of commands. */
  readonly option?: string;
  /** In a custom resource. Undefined: it has another form there, or is missing. */
  readonly declared?: { readonly about: string; readonly example: unknown };
  /** How the audit trail names a change of it, together with those of the same name. */
  readonly action?: string;
} &
  /** `maxLength`: of a text that people give. */
  (
    | { readonly kind: 'text'; readonly maxLength?: number }
    /** One of a few names. */
    | { readonly kind: 'name'; readonly names: readonly string[] }
    | { readonly kind: 'budget'; readonly names: readonly string[] }
    /** Some of a few names. */
    | { readonly kind: 'names'; readonly names: readonly string[] }
    | { readonly kind: Exclude<FieldKind, 'text' | 'name' | 'budget' | 'names'> }
  );

/** The values of each kind. A moment is in milliseconds since the Unix epoch. */
export interface KindValue {
  readonly text: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly count: number;
  readonly money: Money;
  readonly moment: number;
  readonly budget: { readonly limit: Money; readonly period: string };
  readonly models: ModelPatterns;
  readonly thresholds: Thresholds;
  readonly labels: Readonly<Record<string, string>>;
  /** A number for each of some tags, by their texts (`team=search`). */
  readonly 'tag-counts': Readonly<Record<string, number>>;
}
export type FieldKind = keyof KindValue;
export type AccountFields = Readonly<Record<string, AccountField>>;

type NameOf<Field> = Field extends { readonly names: readonly (infer Name)[] } ? Name : never;

export type ValueOfField<Field extends AccountField> = Field extends { readonly kind: 'budget' }
  ? { readonly limit: Money; readonly period: NameOf<Field> }
  : Field extends { readonly kind: 'name' }
    ? NameOf<Field>
    : Field extends { readonly kind: 'names' }
      ? readonly NameOf<Field>[]
      : KindValue[Field['kind']];

/** The keys of the fields with a mark. */
export type KeyWith<Fields, Mark> = { [Key in keyof Fields]: Fields[Key] extends Mark ? Key : never }[keyof Fields];
/** Thresholds have a table of their own. */
export type Apart = { readonly kind: 'thresholds' };
export type Optional = { readonly optional: true };

/** The fields of an account, without its thresholds. */
export type AccountValues<Fields extends AccountFields> = {
  readonly [Key in Exclude<keyof Fields, KeyWith<Fields, Apart | Optional>>]: ValueOfField<Fields[Key]>;
} & {
  readonly [Key in Exclude<KeyWith<Fields, Optional>, KeyWith<Fields, Apart>>]?: ValueOfField<Fields[Key]> | undefined;
};

/** A change of an account. Absent fields stay as they are. */
export type AccountChange<Fields extends AccountFields> = {
  readonly [Key in keyof Fields]?: ValueOfField<Fields[Key]> | undefined;
};

/** All fields of an account, as its object declares them. */
export type DeclaredValues<Fields extends AccountFields> = {
  readonly [Key in Exclude<keyof Fields, KeyWith<Fields, Optional>>]: ValueOfField<Fields[Key]>;
} & { readonly [Key in KeyWith<Fields, Optional>]?: ValueOfField<Fields[Key]> | undefined };

/** Thresholds are not kept with the other fields. */
export type HeldKind = Exclude<FieldKind, 'thresholds'>;
/** A field with its value. Undefined: it is absent, and has no default. */
export type HeldField<Kinds extends HeldKind = HeldKind> = {
  readonly [Kind in Kinds]: {
    readonly name: string;
    readonly kind: Kind;
    readonly value: KindValue[Kind] | undefined;
  };
}[Kinds];

/** The fields with their values, in the order of the table, without thresholds. */
export function heldFields(fields: Partial<AccountFields>, values: object): readonly HeldField[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    if (field === undefined || field.kind === 'thresholds') return [];
    const { name, kind, default: usual } = field;
    return [{ name, kind, value: Reflect.get(values, key) ?? usual }];
  });
}

type ActionOf<Fields> = Extract<Fields[keyof Fields], { readonly action: string }>['action'];

/**
 * The fields that a change has, by the name of the change in the audit trail. A field that can be absent is removed where it is
 * present and undefined; others stay as they are then.
 */
export function changedFields<Fields extends AccountFields>(
  fields: Fields,
  change: object,
): readonly { readonly action: ActionOf<Fields>; readonly fields: Partial<Fields> }[] {
  const isChanged = (key: string, { optional, default: usual }: AccountField): boolean =>
    key in change && (Reflect.get(change, key) !== undefined || (optional === true && usual === undefined));
  const table = Object.entries<AccountField>(fields);
  const all = table.filter(([key, field]) => isChanged(key, field));
  // In the order of their last fields in the table.
  const actions = new Set(table.flatMap(([, { action }]) => action ?? []).toReversed());
  const changed = [...actions].toReversed().filter((action) => all.some(([, field]) => field.action === action));
  return changed.map((action) => ({
    // oxlint-disable-next-line typescript/consistent-type-assertions -- a name of the table
    action: action as ActionOf<Fields>,
    // oxlint-disable-next-line typescript/consistent-type-assertions -- entries of the table itself
    fields: Object.fromEntries(all.filter(([, field]) => field.action === action)) as Partial<Fields>,
  }));
}

export function setFields<Fields extends AccountFields>(fields: Fields, values: object): Partial<Fields> {
  const set = Object.entries(fields).filter(([key]) => Reflect.get(values, key) !== undefined);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- entries of the table itself
  return Object.fromEntries(set) as Partial<Fields>;
}
