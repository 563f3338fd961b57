import type { z } from 'zod';
import { fieldPath } from '../core/failure.ts';

type Issue = z.core.$ZodIssue;

/** The issue nearest to what the author meant: in a union, the branch that got furthest. */
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

/** One sentence for the first thing wrong: the field's path and what was expected there. */
export function describeIssue(error: z.ZodError): string {
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
