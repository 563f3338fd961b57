import { z } from 'zod';

interface Reading<T> {
  readonly key: PropertyKey;
  readonly value: unknown;
  readonly context: z.core.$RefinementCtx;
  readonly keep: (data: T) => void;
}

/** Reads one value. False, with its faults reported under its key, when it is not what the schema wants. */
function readOne<T extends z.ZodType>(schema: T, reading: Reading<z.output<T>>): boolean {
  const { key, value, context, keep } = reading;
  const read = schema.safeParse(value);
  if (read.success) keep(read.data);
  else passOn(read.error, context, [key]);
  return read.success;
}

/** Reports the faults that another schema has found, under a path. */
export function passOn(error: z.ZodError, context: z.core.$RefinementCtx, under: readonly PropertyKey[] = []): void {
  for (const issue of error.issues) {
    // oxlint-disable-next-line typescript/consistent-type-assertions -- a finished issue is a raw one with its message
    context.issues.push({ ...issue, path: [...under, ...issue.path] } as z.core.$ZodRawIssue);
  }
}

/**
 * A list that is judged up to its first bad item. zod's own goes on to the end: a body of a million empty messages, three
 * megabytes, would cost a gigabyte and three seconds in complaints of which the caller is shown one.
 */
export function listOf<T extends z.ZodType>(item: T, bounds: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = Infinity } = bounds;
  return z
    .array(z.unknown())
    .min(min)
    .max(max)
    .transform((values, context): z.output<T>[] => {
      const items: z.output<T>[] = [];
      const keep = (data: z.output<T>): unknown => items.push(data);
      return values.every((value, key) => readOne(item, { key, value, context, keep })) ? items : z.NEVER;
    });
}

/** An object whose fields are all of one kind, judged up to the first that is not. */
export function recordOf<T extends z.ZodType>(field: T) {
  return z.record(z.string(), z.unknown()).transform((values, context): Record<string, z.output<T>> => {
    const fields: (readonly [string, z.output<T>])[] = [];
    const isWhole = Object.entries(values).every(([key, value]) =>
      readOne(field, { key, value, context, keep: (data) => fields.push([key, data]) }),
    );
    return isWhole ? Object.fromEntries(fields) : z.NEVER;
  });
}
