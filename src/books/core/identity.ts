import type { IdentityLimits, IdentityLimitsChange, IdentityRules } from '../../core/identity.ts';

export interface NewIdentity extends IdentityRules, Omit<IdentityLimits, 'status'> {
  readonly name: string;
}

/** What can be changed of an identity. Absent fields stay as they are; a budget and models are removed where they are present and undefined. */
export type IdentityChange = SomeIdentityRules & IdentityLimitsChange;

/** The payer of an identity, from two fields of which at most one is given. */
export function payerOf(workspace: string | undefined, claim: string | undefined): SomeIdentityRules['workspace'] {
  if (workspace !== undefined) return { name: workspace };
  return claim === undefined ? undefined : { claim };
}

/** Rules of which some may be missing. */
export type SomeIdentityRules = { readonly [Field in keyof IdentityRules]?: IdentityRules[Field] | undefined };
