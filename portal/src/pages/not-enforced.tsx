import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import { Checks } from '../parts/checks.tsx';

type OfKey = NonNullable<KeyObject['not_enforced']>[number];
type OfWorkspace = NonNullable<WorkspaceObject['not_enforced']>[number];
type Words<Name extends string> = Readonly<Record<Name, string>>;

/** The limits that need not be enforced, in words that no other field of their form has. */
export const limitsOfKey: Words<OfKey> = { rate: 'Rate', tokens: 'Tokens', budget: 'Budget' };
export const limitsOfWorkspace: Words<OfWorkspace> = {
  concurrency: 'Concurrency',
  'workspace-tokens': 'Tokens',
  'tag-tokens': 'Tokens of tags',
  'tag-budget': 'Budgets of tags',
};

interface NotEnforcedProps {
  readonly limits: Words<OfKey> | Words<OfWorkspace>;
  readonly name: string;
  readonly defaultValue: readonly string[] | null | undefined;
  readonly error: string | undefined;
}

/** Limits that count without refusing anything. */
export function NotEnforced({ limits, ...field }: NotEnforcedProps) {
  return (
    <Checks
      legend="Count only"
      options={limits}
      hint="Requests beyond these limits are served, and are counted and marked as if they had been refused."
      {...field}
    />
  );
}

/** The checked limits, if they are others than at first. Null: all are enforced. */
export function changedNotEnforced<Name extends string>(
  limits: Words<Name>,
  first: readonly string[] | null | undefined,
  form: FormData,
): { readonly not_enforced?: Name[] | null } {
  const all = Object.keys(limits) as Name[];
  const checked = new Set(form.getAll('not_enforced'));
  const [was, is] = [all.filter((name) => first?.includes(name)), all.filter((name) => checked.has(name))];
  if (is.join() === was.join()) return {};
  return { not_enforced: is.length === 0 ? null : is };
}

interface CountOnlyProps<Name extends string> {
  readonly limits: Words<Name>;
  readonly names: readonly Name[] | null;
}

/** The limits that only count, for a table. Nothing: all are enforced. */
export function CountOnly<Name extends string>({ limits, names }: CountOnlyProps<Name>) {
  if (names === null || names.length === 0) return null;
  return <span className="small muted">Count only: {names.map((name) => limits[name].toLowerCase()).join(', ')}</span>;
}
