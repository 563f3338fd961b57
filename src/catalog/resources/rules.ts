import type * as z from 'zod';

/** How the API server words a refusal: `Required value: …`, `Forbidden: …`, `Invalid value: …: …`. */
type Reason = 'Required' | 'Forbidden' | 'Invalid';

/**
 * What a schema cannot say, said twice in one place: for manifest folders as a function, for the API server in CEL.
 * Both name the same field with the same message; test/kube holds them against each other.
 */
export interface Rule<Value> {
  /** The field at fault, from what the rule stands on; empty when it is that itself. */
  readonly field: readonly string[];
  readonly reason: Reason;
  readonly message: string;
  readonly holds: (value: Value) => boolean;
  /** The same with `self` for the value. A field without a default needs `has()`; a list needs its maximum, or the API server finds the rule too costly. */
  readonly cel: string;
}

/** One entry of `x-kubernetes-validations`. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: `FieldValue${Reason}`;
}

/** The key under which a schema's CEL rules stand in OpenAPI. */
const celKey = 'x-kubernetes-validations';

/** A schema with its rules. They run once the fields are sound by themselves, as in the API server. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule<z.output<Schema>>[]): Schema {
  const checked = schema.superRefine((value, context) => {
    for (const { holds, field, message } of rules) {
      if (!holds(value)) context.addIssue({ code: 'custom', path: [...field], message });
    }
  });
  const celRules = rules.map(({ cel, message, field, reason }): CelRule => ({
    ...{ rule: cel, message, reason: `FieldValue${reason}` },
    ...(field.length > 0 && { fieldPath: field.map((name) => `.${name}`).join('') }),
  }));
  return withCel(checked, celRules);
}

/**
 * Text of a shape. The pattern alone would have the API server answer with the pattern, so that it stands in CEL once
 * more, with our words. It must be one that Go understands too: no look-around, no back-references, no double quotes.
 */
export function shaped(schema: z.ZodString, pattern: RegExp, message: string): z.ZodString {
  return withCel(schema.regex(pattern, message), [{ rule: `self.matches(r"${pattern.source}")`, message }]);
}

/** A field that cannot change once its object exists. Only the API server knows what it was before. */
export function immutable<Schema extends z.ZodType>(schema: Schema, message: string): Schema {
  return withCel(schema, [{ rule: 'self == oldSelf', message }]);
}

/** A schema with rules for the API server alone; zod has the same from elsewhere. */
export function withCel<Schema extends z.ZodType>(schema: Schema, rules: readonly CelRule[]): Schema {
  const earlier = schema.meta()?.[celKey];
  return schema.meta({ [celKey]: [...(Array.isArray(earlier) ? earlier : []), ...rules] });
}
