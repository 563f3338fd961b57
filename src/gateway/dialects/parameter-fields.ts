import { z } from 'zod';
import { type ParameterName, parameterNames, parameters, type Sampling } from '../../core/parameters.ts';
import { present } from './read-body.ts';

/** The fields of both request bodies that are optional parameters, derived from the table of parameters. Null means absent. */
type Nullish<Schema extends z.ZodType> = z.ZodOptional<z.ZodNullable<Schema>>;

type ChatFields = { readonly [Name in ParameterName]: Nullish<(typeof parameters)[Name]['schema']> };

// oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
export const chatFields = Object.fromEntries(
  parameterNames.map((name) => [name, z.nullish(parameters[name].schema)]),
) as unknown as ChatFields;

type MessagesFormOf<Name extends ParameterName> = (typeof parameters)[Name]['messages'];
type FieldName<Name extends ParameterName> = Extract<MessagesFormOf<Name>, { readonly kind: 'field' }>['name'];

type MessagesFields = {
  readonly [Name in ParameterName as FieldName<Name>]: Nullish<
    Extract<MessagesFormOf<Name>, { readonly kind: 'field' }>['schema']
  >;
};

// oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
export const messagesFields = Object.fromEntries(
  parameterNames.flatMap((name) => {
    const { messages } = parameters[name];
    return messages.kind === 'field' ? [[messages.name, z.nullish<z.ZodType>(messages.schema)]] : [];
  }),
) as unknown as MessagesFields;

/** The parameters that the messages surface has inside another field. Its reader must read each of them. */
export type PartName = {
  [Name in ParameterName]: MessagesFormOf<Name> extends { readonly kind: 'part' } ? Name : never;
}[ParameterName];

/** The parameters of a parsed body, in the order of the table. `valueOf` finds the value that the schema of a parameter has read. */
export function samplingOf(valueOf: (name: ParameterName) => unknown): Sampling {
  return present(Object.fromEntries(parameterNames.map((name) => [name, valueOf(name)])));
}
