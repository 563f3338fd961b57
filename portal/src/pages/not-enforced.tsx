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
  readonly first: readonly string[] | null | undefined;
  readonly error: string | undefined;
}

/** Limits that count without refusing anything. */
export function NotEnforced({ limits, first, error }: NotEnforcedProps) {
  return (
    <Checks
      legend="Count only"
      name="not_enforced"
      options={limits}
      first={first ?? []}
      hint="Requests beyond these limits are served, and are counted and marked as if they had been refused."
      error={error}
    />
  );
}

/** The checked limits, if they are others than at first. Null: all are enforced. */
export function changedNotEnforced<Name extends string>(
  limits: Words<Name>,
  first: readonly string[] | null | undefined,
  form: FormData,
): { readonly not_enforced?: Name[] | null } {
  const checked = new Set(form.getAll('not_enforced'));
  const names = namesOf(limits).filter((name) => checked.has(name));
  if (
    names.join() ===
    namesOf(limits)
      .filter((name) => first?.includes(name))
      .join()
  )
    return {};
  return { not_enforced: names.length === 0 ? null : names };
}

/** The limits that only count, for a table. Nothing: all are enforced. */
export function CountOnly<Name extends string>({
  limits,
  names,
}: {
  readonly limits: Words<Name>;
  readonly names: readonly Name[] | null;
}) {
  if (names === null || names.length === 0) return null;
  return <span className="small muted">Count only: {names.map((name) => limits[name].toLowerCase()).join(', ')}</span>;
}

const namesOf = <Name extends string>(limits: Words<Name>): Name[] => Object.keys(limits) as Name[];
