import { z } from 'zod';
import { passOn } from './first-fault.ts';
import { isObject } from './json.ts';

type Schemas = Readonly<Record<string, z.ZodType>>;

/** What is done about a type that has no schema. */
interface OtherTypes<R extends z.ZodType> {
  /** Types that are known and refused, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Reads every other type; absent: they are refused, and the message names those that are read. */
  readonly rest?: R;
}

/**
 * An object read by the schema that its `type` names. Unlike in a union, the faults of one type do not hide behind those of
 * another, there may be a rest, and a refusal names only what would be accepted.
 */
export function byType<S extends Schemas, R extends z.ZodType = z.ZodNever>(schemas: S, others: OtherTypes<R> = {}) {
  const { refused = {}, rest } = others;
  type Read = z.output<S[keyof S]> | z.output<R>;
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Object.entries forgets the type of the values
  const table = new Map(Object.entries(schemas) as [unknown, z.ZodType<Read>][]);
  const expected = `expected ${[...table.keys()].map((type) => `'${String(type)}'`).join(' | ')}`;

  return z.unknown().transform((value, context): Read => {
    const type = isObject(value) ? value['type'] : undefined;
    // oxlint-disable-next-line typescript/consistent-type-assertions -- the schema of the rest reads what the type says
    const schema = table.get(type) ?? (rest as z.ZodType<Read> | undefined);
    if (!isObject(value)) {
      context.addIssue({ code: 'custom', message: 'expected an object with a type' });
      return z.NEVER;
    }
    const refusal = typeof type === 'string' && Object.hasOwn(refused, type) ? refused[type] : undefined;
    if (refusal !== undefined || schema === undefined) {
      context.addIssue({ code: 'custom', path: ['type'], message: refusal ?? expected });
      return z.NEVER;
    }
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    passOn(read.error, context);
    return z.NEVER;
  });
}
