import * as z from 'zod';

/**
 * Text of any characters, at most `max` of them, counted as the API server counts: in code points. zod alone would count
 * UTF-16 units, twice as many for an emoji.
 */
export function text(max: number): z.ZodString {
  return z
    .string()
    .min(1)
    .refine((value) => Array.from(value).length <= max, { error: `expected at most ${max} characters` })
    .meta({ maxLength: max });
}

/** How the API server words a refusal: `Required value: …`, `Forbidden: …`, `Invalid value: …: …`. */
type Reason = 'Required' | 'Forbidden' | 'Invalid';

/**
 * A rule that a schema cannot express, in two forms: as a function for manifest folders, and in CEL for the API server.
 * Both name the same field with the same message; test/kube compares the two.
 */
interface Rule<Value> {
  /** Path of the field at fault, below the value that the rule is declared on; empty: the value itself. */
  readonly field: readonly string[];
  readonly reason: Reason;
  readonly message: string;
  readonly holds: (value: Value) => boolean;
  /** `holds` in CEL, with `self` for the value. A field without a default needs `has()`; a list needs its maximum, or the API server finds the rule too costly. */
  readonly cel: string;
}

/** One entry of `x-kubernetes-validations`. */
interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: `FieldValue${Reason}`;
}

/** The key of a schema's CEL rules in OpenAPI. */
const celKey = 'x-kubernetes-validations';

/** A schema with its rules, which run once each field is valid by itself, as in the API server. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule<z.output<Schema>>[]): Schema {
  const checked = schema.superRefine((value, context) => {
    for (const { holds, field, message } of rules) {
      if (!holds(value)) context.addIssue({ code: 'custom', path: [...field], message });
    }
  });
  const celRules = rules.map(({ cel, message, field, reason }): CelRule => ({
    rule: cel,
    message,
    reason: `FieldValue${reason}`,
    ...(field.length > 0 && { fieldPath: field.map((name) => `.${name}`).join('') }),
  }));
  return withCel(checked, celRules);
}

/**
 * Text that matches a pattern. If a bare pattern does not match, the API server's message is the pattern. So the
 * pattern is repeated in CEL with our message. Go must understand the pattern, too: no look-around, no back-references,
 * no double quotes.
 */
export function shaped(schema: z.ZodString, pattern: RegExp, message: string): z.ZodString {
  return withCel(schema.regex(pattern, message), [{ rule: `self.matches(r"${pattern.source}")`, message }]);
}

/** Marks the one union that a structural schema may have. */
export const intOrStringKey = 'x-kubernetes-int-or-string';

interface IntOrString {
  readonly minimum: number;
  readonly maximum: number;
  readonly maxLength: number;
  readonly pattern: RegExp;
}

/** A whole number or a text (Kubernetes' IntOrString), with one message for every other value. */
export function intOrString(bounds: IntOrString, message: string): z.ZodUnion<readonly [z.ZodInt, z.ZodString]> {
  const { minimum, maximum, maxLength, pattern } = bounds;
  const whole = z.int().min(minimum, message).max(maximum, message);
  const name = z.string().max(maxLength, message).regex(pattern, message);
  const union = z.union([whole, name], {
    error: ({ input }) => (input === undefined ? `required, ${message}` : message),
  });
  const rule = `type(self) == int ? self >= ${minimum} && self <= ${maximum} : self.matches(r"${pattern.source}")`;
  return withCel(union.meta({ [intOrStringKey]: true }), [{ rule, message }]);
}

/** A field that cannot change once its object exists. Only the API server knows its earlier value. */
export function immutable<Schema extends z.ZodType>(schema: Schema, message: string): Schema {
  return withCel(schema, [{ rule: 'self == oldSelf', message }]);
}

/** Adds rules for the API server alone. zod checks the same by other means. */
function withCel<Schema extends z.ZodType>(schema: Schema, rules: readonly CelRule[]): Schema {
  const earlier = schema.meta()?.[celKey];
  return schema.meta({ [celKey]: [...(Array.isArray(earlier) ? earlier : []), ...rules] });
}

const expected = 'expected a date and time such as "2026-06-01T00:00:00Z"';

const calendarTime = z.iso
  .datetime({ offset: true, error: expected })
  .max(40)
  // zod's pattern checks the calendar. The API server checks it by the format, and needs this pattern only to require
  // capital letters.
  .meta({ pattern: '^[0-9-]{10}T[0-9:.]+(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$' });

/**
 * A moment as RFC 3339 text: date, time and offset (the `date-time` format of OpenAPI). The API server does not check
 * that a value of that format is a text, and would accept a list. The rule reads the value, and so refuses a list.
 */
export const instant = withCel(calendarTime, [{ rule: 'self.getFullYear() >= 0', message: expected }]);

/** Whole Unix seconds of an instant that was validated. */
export function unixSeconds(text: string): number {
  return Math.floor(Date.parse(text) / 1000);
}

/** Name of an object, in Kubernetes' form (RFC 1123 subdomain). */
export const objectName = shaped(
  z.string().min(1).max(253),
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'expected lowercase letters, digits, "-" and ".", beginning and ending with a letter or digit',
);

const textMap = z.record(z.string().max(317), z.string().max(262_144));

/**
 * The object's metadata. Weir uses only `name`, `creationTimestamp` and `annotations`. Kubernetes adds the other
 * fields, and they are accepted so that the output of `kubectl get -o yaml` can be used as a manifest. A gateway reads
 * one namespace, so references have no `namespace`.
 */
export const metadata = z.strictObject({
  name: objectName.describe('Name of the object; references use it. Example: vllm-a.'),
  namespace: objectName.optional(),
  labels: textMap.nullish(),
  annotations: textMap.nullish(),
  creationTimestamp: instant.nullish(),
  generateName: z.unknown().optional(),
  uid: z.unknown().optional(),
  resourceVersion: z.unknown().optional(),
  generation: z.unknown().optional(),
  selfLink: z.unknown().optional(),
  deletionTimestamp: z.unknown().optional(),
  deletionGracePeriodSeconds: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
  managedFields: z.unknown().optional(),
});

/** A whole object of a kind of ours. */
export const resource = <Kind extends string, Spec extends z.ZodType>(kind: Kind, spec: Spec) =>
  z.strictObject({
    apiVersion: z.literal('weir.dev/v1alpha1'),
    kind: z.literal(kind),
    metadata,
    spec,
    status: z.unknown().optional(),
  });
