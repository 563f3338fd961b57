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

/** A `x-kubernetes-validations` rule: what one schema cannot say in OpenAPI, the API server checks in CEL. */
export function celRule(rule: string, message: string): { readonly 'x-kubernetes-validations': readonly object[] } {
  return { 'x-kubernetes-validations': [{ rule, message }] };
}
