import * as z from 'zod';

/**
 * An object with exactly these fields. An unknown field is an error that lists the known ones, because a misspelt
 * optional field would otherwise be ignored in silence.
 */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? `unknown field, expected one of: ${known}` : undefined),
  });
}

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
