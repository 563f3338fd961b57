import { z } from 'zod';
import type {
  AccountField,
  AccountFields,
  KeyWith,
  KindValue,
  Optional,
  ValueOfField,
} from '../../core/account-field.ts';
import { budgetPeriods } from '../../core/account.ts';
import { areLabels, labelsForm } from '../../core/labels.ts';
import { formatUsd } from '../../core/money.ts';
import { readModelPatterns } from '../../core/model-patterns.ts';
import { tagCounts } from '../../core/tags.ts';
import type { ShownFields } from '../../books/core/shown.ts';
import { budgetThresholds, givenThresholds } from './alerts.ts';
import { givenMoment, givenUsd, moment, positiveCount, usd } from './values.ts';

// The fields of accounts in the objects of the admin API, derived from their tables.

const period = z.enum(budgetPeriods).meta({
  description: 'Reset of the budget, in UTC: each day, each Monday, each first of the month, or never.',
});
export const keyBudget = z.object({ limit: usd, period });
export const givenBudget = z.strictObject({ limit: givenUsd, period });

/** Patterns in the canonical form of `core/model-patterns.ts`. */
const patterns = z
  .array(z.string().max(128))
  .min(1)
  .max(100)
  .transform((names, context) => {
    const read = readModelPatterns(names.join(','));
    if ('patterns' in read) return read.patterns;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  })
  .meta({ description: 'Models such as `org/model`, or `org/*` for all of an organisation.', example: ['qwen/*'] });

const labels = z.record(z.string(), z.string());

/** What a field takes in an answer, and in the body of a request. */
function schemasOf(field: AccountField): { readonly shown: z.ZodType; readonly given: z.ZodType } {
  const same = (schema: z.ZodType) => ({ shown: schema, given: schema });
  switch (field.kind) {
    case 'text':
      return same(field.maxLength === undefined ? z.string() : z.string().max(field.maxLength));
    case 'name':
      return same(z.enum(field.names));
    case 'names':
      return same(z.array(z.enum(field.names)).max(field.names.length));
    case 'count':
      return same(positiveCount);
    case 'money':
      return { shown: usd, given: givenUsd };
    case 'moment':
      return { shown: moment, given: givenMoment };
    case 'budget':
      return { shown: keyBudget, given: givenBudget };
    case 'models':
      return { shown: z.array(z.string()), given: patterns };
    case 'thresholds':
      return { shown: budgetThresholds, given: givenThresholds };
    case 'tag-counts':
      return same(tagCounts(positiveCount));
    case 'labels':
      return { shown: labels, given: labels.refine(areLabels, `expected ${labelsForm}`) };
  }
}

function described(schema: z.ZodType, description: string | undefined, example?: number | string): z.ZodType {
  if (description === undefined && example === undefined) return schema;
  return schema.meta({ ...(description !== undefined && { description }), ...(example !== undefined && { example }) });
}

const isNullable = ({ optional, default: usual }: AccountField): boolean => optional === true && usual === undefined;

type ShownShape<Fields extends AccountFields> = {
  readonly [Name in keyof ShownFields<Fields>]: z.ZodType<ShownFields<Fields>[Name]>;
};

/** The fields in an answer, without thresholds. */
export function shownShape<Fields extends AccountFields>(fields: Fields): ShownShape<Fields> {
  const shape = Object.values<AccountField>(fields)
    .filter(({ kind }) => kind !== 'thresholds')
    .map((field) => {
      const schema = described(schemasOf(field).shown, field.about, field.example);
      return [field.name, described(isNullable(field) ? schema.nullable() : schema, field.shown)];
    });
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(shape) as ShownShape<Fields>;
}

type GivenText<Field extends AccountField> = Field extends { readonly kind: 'money' | 'moment' }
  ? string
  : Field extends { readonly kind: 'budget' }
    ? { limit: string; period: (ValueOfField<Field> & KindValue['budget'])['period'] }
    : Field extends { readonly kind: 'models' }
      ? string[]
      : Field extends { readonly kind: 'thresholds' }
        ? number[]
        : ValueOfField<Field>;

type Given<Field extends AccountField> = z.ZodType<ValueOfField<Field>, GivenText<Field>>;
type HasDefault = { readonly default: unknown };
type NullOr<Field extends AccountField> = Field extends Optional
  ? Field extends HasDefault
    ? Given<Field>
    : z.ZodNullable<Given<Field>>
  : Given<Field>;

/** The fields that callers give when an account is made. */
type NewShape<Fields extends AccountFields> = {
  readonly [
    Key in Exclude<keyof Fields, KeyWith<Fields, { readonly setBy: string }>> as Fields[Key]['name']
  ]: Fields[Key] extends HasDefault
    ? z.ZodPrefault<Given<Fields[Key]>>
    : Fields[Key] extends Optional
      ? z.ZodOptional<NullOr<Fields[Key]>>
      : Given<Fields[Key]>;
};

export function newShape<Fields extends AccountFields>(fields: Fields): NewShape<Fields> {
  const shape = Object.values<AccountField>(fields)
    .filter(({ setBy }) => setBy === undefined)
    .map((field) => [field.name, described(newSchema(field), field.given)]);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(shape) as NewShape<Fields>;
}

function newSchema(field: AccountField): z.ZodType {
  const { default: usual } = field;
  const schema = givenSchema(field);
  if (usual !== undefined) return schema.prefault(typeof usual === 'bigint' ? formatUsd(usual) : usual);
  return field.optional === true ? schema.optional() : schema;
}

function givenSchema(field: AccountField): z.ZodType {
  const schema = described(schemasOf(field).given, field.about, field.example);
  return isNullable(field) && field.kind !== 'thresholds' ? schema.nullable() : schema;
}

/** The fields that callers change. Absent ones stay as they are, null removes a value. */
type ChangeShape<Fields extends AccountFields> = {
  readonly [
    Key in Exclude<keyof Fields, KeyWith<Fields, { readonly setBy: 'object' }>> as Fields[Key]['name']
  ]: z.ZodOptional<NullOr<Fields[Key]>>;
};

export function changeShape<Fields extends AccountFields>(fields: Fields): ChangeShape<Fields> {
  const shape = Object.values<AccountField>(fields)
    .filter(({ setBy }) => setBy !== 'object')
    .map((field) => [field.name, described(givenSchema(field).optional(), field.given)]);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(shape) as ChangeShape<Fields>;
}

type ValuesOfBody<Fields extends AccountFields, Body> = {
  readonly [Key in keyof Fields as Fields[Key]['name'] extends keyof Body ? Key : never]: OrUndefined<
    Body[Fields[Key]['name'] & keyof Body]
  >;
};
type OrUndefined<Value> = Value extends null ? undefined : Value;

/** The fields that a body has, by their keys. Null: the value is removed. */
export function valuesOfBody<Fields extends AccountFields, Body extends object>(
  fields: Fields,
  body: Body,
): ValuesOfBody<Fields, Body> {
  const values = Object.entries(fields).flatMap(([key, { name }]) => {
    const value: unknown = Reflect.get(body, name);
    return value === undefined ? [] : [[key, value ?? undefined]];
  });
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return Object.fromEntries(values) as ValuesOfBody<Fields, Body>;
}
