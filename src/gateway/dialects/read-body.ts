import type { z } from 'zod';
import { Failure, fieldPath } from '../../core/failure.ts';
import { isObject } from '../../core/json.ts';

/** Parses a request body. Throws `invalid_request` with one sentence about the first invalid field. */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new Failure('invalid_request', describeIssue(parsed.error));
  return parsed.data;
}

type Issue = z.core.$ZodIssue;

/** The path of the first invalid field and what was expected there. */
function describeIssue(error: z.ZodError): string {
  const [first] = error.issues;
  if (first === undefined) return 'The request body is not valid.';
  const { issue, path } = deepest(first, []);
  const field = fieldPath(path);
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const expected = issue.errors.flatMap(([inner]) =>
      inner === undefined ? [] : [inner.message.replace(/^Invalid \w+: /, '')],
    );
    return `${field}: ${[...new Set(expected)].join(', or ')}`;
  }
  const message = issue.message.replace(/^Invalid (input: |option: |discriminator value\. E)/, (_, what: string) =>
    what.endsWith('E') ? 'e' : '',
  );
  return field === '' ? message : `${field}: ${message}`;
}

/** Returns the issue nearest to what the caller meant. In a union, this is the issue of the branch that matched furthest. */
function deepest(
  issue: Issue,
  path: readonly PropertyKey[],
): { readonly issue: Issue; readonly path: readonly PropertyKey[] } {
  const here = { issue, path: [...path, ...issue.path] };
  if (issue.code !== 'invalid_union') return here;
  const branches = issue.errors.flatMap((errors) => (errors[0] === undefined ? [] : [deepest(errors[0], here.path)]));
  const best = branches.reduce((a, b) => (b.path.length > a.path.length ? b : a), here);
  return best.path.length > here.path.length ? best : here;
}

/** The fields of a body that are accepted and have no effect, in the order in which the body has them. */
export function inertFields(body: unknown, names: ReadonlySet<string>): readonly string[] {
  return isObject(body) ? Object.keys(body).filter((name) => names.has(name)) : [];
}

/** Drops fields that are undefined or null, for objects that are written as JSON or whose keys are listed. */
export function present<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the keys are those of the argument
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
