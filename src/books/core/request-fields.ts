import { z } from 'zod';
import { momentSchema } from '../../core/moment.ts';
import { formatUsd, type Money, usdSchema } from '../../core/money.ts';
import {
  type SettledField,
  settledFields,
  type SettledRequest,
  type SettledTable,
} from '../../core/settled-request.ts';

/** A settled request with the name of its workspace. */
export interface NamedRequest {
  readonly outcome: SettledRequest;
  readonly workspace: string;
}

/** A field of the public form of a settled request, and how it is read. An absent value is null, not zero. */
export type RequestField =
  | Field<'text', string | null>
  | Field<'flag', boolean>
  | Field<'count', number | null>
  | Field<'money', Money>
  /** Milliseconds since the Unix epoch. */
  | Field<'moment', number>;

interface Field<Kind extends string, Value> {
  readonly name: string;
  readonly kind: Kind;
  readonly schema: z.ZodType;
  readonly read: (named: NamedRequest) => Value;
}

/** An older field than `counted_by`, which has more detail. */
const estimated: RequestField = {
  ...{ name: 'estimated', kind: 'flag', schema: z.boolean() },
  read: ({ outcome }) => outcome.countedBy === 'estimate',
};

/** The public form: what `weir usage --requests`, `weir ledger export` and the portal show of a request, in this order. */
export const requestFields: readonly RequestField[] = settledFields.flatMap((field) =>
  field.key === 'countedBy' ? [estimated, shownField(field)] : [shownField(field)],
);

function shownField(field: SettledField): RequestField {
  const { shown: name } = field;
  const schema = schemaOf(field);
  switch (field.kind) {
    case 'text':
    case 'name':
      if (field.key === 'workspaceId') return { name, kind: 'text', schema, read: ({ workspace }) => workspace };
      return { name, kind: 'text', schema, read: ({ outcome }) => field.read(outcome) ?? null };
    case 'count':
      return { name, kind: 'count', schema, read: ({ outcome }) => field.read(outcome) ?? null };
    case 'flag':
      return { name, kind: 'flag', schema, read: ({ outcome }) => field.read(outcome) };
    case 'money':
      return { name, kind: 'money', schema, read: ({ outcome }) => field.read(outcome) };
    case 'moment':
      return { name, kind: 'moment', schema, read: ({ outcome }) => field.read(outcome) };
  }
}

function schemaOf(field: SettledField): z.ZodType {
  const { about: description, example } = field;
  const plain = plainSchema(field);
  const schema = field.optional ? plain.nullable() : plain;
  if (description === undefined && example === undefined) return schema;
  return schema.meta({
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
  });
}

function plainSchema(field: SettledField): z.ZodType {
  switch (field.kind) {
    case 'text':
      return z.string();
    case 'name':
      return z.enum(field.names);
    case 'flag':
      return z.boolean();
    case 'count':
      return z.int().min(0);
    case 'money':
      return usdSchema;
    case 'moment':
      return momentSchema;
  }
}

/** The value of a field in JSON and CSV: an amount as a decimal string in USD, a moment in ISO 8601 in UTC. */
export function plainValue(field: RequestField, named: NamedRequest): string | number | boolean | null {
  switch (field.kind) {
    case 'money':
      return formatUsd(field.read(named));
    case 'moment':
      return new Date(field.read(named)).toISOString();
    case 'text':
    case 'flag':
    case 'count':
      return field.read(named);
  }
}

type ShownName<Spec> = Spec extends { readonly shown: infer Name extends string }
  ? Name
  : Spec extends { readonly name: infer Name extends string }
    ? Name
    : never;

type PlainOf<Spec> = Spec extends { readonly names: readonly (infer Name)[] }
  ? Name
  : Spec extends { readonly kind: 'flag' }
    ? boolean
    : Spec extends { readonly kind: 'count' }
      ? number
      : string;

type ShownOf<Spec> = Spec extends { readonly optional: true } ? PlainOf<Spec> | null : PlainOf<Spec>;

type ShownShape = {
  readonly [Key in keyof SettledTable as ShownName<SettledTable[Key]>]: z.ZodType<ShownOf<SettledTable[Key]>>;
} & { readonly estimated: z.ZodType<boolean> };

/** The public form of a settled request as JSON. */
export const shownRequestSchema: z.ZodObject<ShownShape> = z.object(
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type of the shape is made of the same table
  Object.fromEntries(requestFields.map(({ name, schema }) => [name, schema])) as unknown as ShownShape,
);
type ShownRequest = Readonly<z.infer<typeof shownRequestSchema>>;

/** Makes the public form without checking it. Its readers check it, so that one odd request does not spoil a list. */
export function shownRequest(named: NamedRequest): ShownRequest {
  const fields = requestFields.map((field) => [field.name, plainValue(field, named)] as const);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the table that the fields are made of
  return Object.fromEntries(fields) as unknown as ShownRequest;
}
