import * as z from 'zod';
import type {
  AccountField,
  AccountFields,
  DeclaredValues,
  KeyWith,
  Optional,
  ValueOfField,
} from '../../../core/account-field.ts';
import { maxLabels } from '../../../core/account.ts';
import { areLabels, labelForms, labelsForm } from '../../../core/labels.ts';
import { listBounds } from '../../../core/limits.ts';
import { parseUsd } from '../../../core/money.ts';
import { tagCountsProblem, tagForm, tagPattern } from '../../../core/tags.ts';
import { instant, shaped, text, withRules } from './fields.ts';

// The fields of accounts in the specs of their objects, derived from their tables.

/** Six digits before the point, because a workspace holds at most $9,000,000. */
const amountExpected = 'USD below 1000000 with at most 12 decimals';
const amountText = z.string({ error: `expected a decimal in quotes, ${amountExpected}, such as "200"` }).max(20);

/** An amount of at least 0. */
export const usd = shaped(
  amountText,
  /^[0-9]{1,6}(\.[0-9]{1,12})?$/,
  `expected ${amountExpected} and no sign, such as "200"`,
);

/** The amount of a credit. Below zero: a correction. */
export const signedUsd = shaped(
  amountText,
  /^-?[0-9]{1,6}(\.[0-9]{1,12})?$/,
  `expected ${amountExpected}, such as "25", or below zero for a correction`,
);

export const count = z.int().min(1).max(1_000_000_000);

const { name: labelName, value: labelValue, maxLength: labelLength } = labelForms;
const labels = withRules(z.record(z.string(), z.string().max(labelLength)), [
  {
    ...{ field: [], reason: 'Invalid', message: `expected ${labelsForm}`, holds: areLabels },
    cel: `self.all(name, name.size() <= ${labelLength} && name.matches(r"${labelName.source}") && self[name].matches(r"${labelValue.source}"))`,
  },
]);

const tagCounts = withRules(z.record(z.string(), count), [
  {
    ...{ field: [], reason: 'Invalid', holds: (given) => tagCountsProblem(given) === undefined },
    message: `expected at most ${listBounds.maxTagLimits} tags, each ${tagForm}`,
    cel: `self.all(tag, tag.matches(r"${tagPattern}"))`,
  },
]);

export const thresholds = z
  .array(z.int({ error: 'expected a whole percentage from 1 to 100' }).min(1).max(100))
  .max(listBounds.maxThresholds)
  .optional();

const modelPattern = shaped(
  z.string().min(3).max(128),
  /^[a-z0-9][a-z0-9._-]*\/([a-z0-9][a-z0-9._-]*|\*)$/,
  'expected the id of a model in lower case, such as "qwen/qwen3-8b", or "qwen/*" for all of an organisation',
);

function schemaOf(field: Exclude<AccountField, { readonly kind: 'budget' }>): z.ZodType {
  switch (field.kind) {
    case 'text':
      return text(field.maxLength ?? Infinity).optional();
    case 'name':
      return z.enum(['Active', 'Suspended']).default('Active');
    case 'names':
      return z.array(z.enum(field.names)).max(field.names.length).optional();
    case 'count':
      return field.default === undefined ? count.optional() : count.default(Number(field.default));
    case 'money':
      return usd.default('0');
    case 'moment':
      return instant.optional();
    case 'models':
      return z.array(modelPattern).min(1).max(listBounds.maxKeyModels).optional();
    case 'thresholds':
      return thresholds;
    case 'labels':
      return labels.default({});
    case 'tag-counts':
      return tagCounts.optional();
  }
}

type Declared = { readonly declared: object };
type DeclaredFields<Fields extends AccountFields> = Pick<Fields, KeyWith<Fields, Declared>>;

/** Values as an object has them: an amount and a moment are texts, and a status begins with a capital letter. */
type SpecValue<Field extends AccountField> = Field extends { readonly kind: 'name' }
  ? 'Active' | 'Suspended'
  : Field extends { readonly kind: 'money' | 'moment' }
    ? string
    : ValueOfField<Field>;

type SpecShape<Fields extends AccountFields> = {
  readonly [Key in KeyWith<Fields, Declared>]: z.ZodType<
    SpecValue<Fields[Key]> | (Fields[Key] extends Optional ? undefined : never)
  >;
};

function maxEntries({ kind }: AccountField): { readonly maxProperties?: number } {
  if (kind === 'labels') return { maxProperties: maxLabels };
  return kind === 'tag-counts' ? { maxProperties: listBounds.maxTagLimits } : {};
}

/** The fields of a table that an object declares in this form. */
export function specShape<Fields extends AccountFields>(fields: Fields): SpecShape<Fields> {
  const shape = Object.entries<AccountField>(fields).flatMap(([key, field]) => {
    if (field.declared === undefined || field.kind === 'budget') return [];
    const { about: description, example } = field.declared;
    return [[key, schemaOf(field).meta({ description, example, ...maxEntries(field) })]];
  });
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(shape) as SpecShape<Fields>;
}

/** The values of the fields of a spec. */
export function valuesOfSpec<Fields extends AccountFields>(
  fields: Fields,
  spec: { readonly [Key in keyof SpecShape<Fields>]: z.output<SpecShape<Fields>[Key]> },
): DeclaredValues<DeclaredFields<Fields>> {
  const values = Object.entries<AccountField>(fields).flatMap(([key, { declared, kind }]) =>
    declared === undefined ? [] : [[key, valueOf(kind, Reflect.get(spec, key))]],
  );
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(values) as DeclaredValues<DeclaredFields<Fields>>;
}

function valueOf(kind: AccountField['kind'], value: unknown): unknown {
  if (Array.isArray(value) && kind === 'models') return [...new Set(value.map(String))].toSorted();
  if (typeof value !== 'string') return value;
  if (kind === 'money') return parseUsd(value) ?? 0n;
  if (kind === 'moment') return Date.parse(value);
  return kind === 'name' ? value.toLowerCase() : value;
}
