import type { CatalogObject } from '../core/catalog.ts';
import type { SchemaFault } from '../core/schema-faults.ts';

/** The aliases that the object of a served model declares. */
export interface AliasClaim {
  readonly object: CatalogObject;
  readonly modelId: string;
  readonly aliases: readonly string[];
  /** Milliseconds since the epoch; 0: unknown. */
  readonly createdAt: number;
}

export interface ClaimedAliases {
  /** The id of a model by its alias. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly refused: readonly { readonly object: CatalogObject; readonly fault: SchemaFault }[];
}

/**
 * Gives each alias to one model. An id wins over an alias, whichever object is older: an alias must not take a model out of the
 * catalog without notice (docs/decisions/0068-an-id-wins-over-an-alias.md). Of two objects with the same alias, the one created
 * first keeps it; where no times are known, the first in order. `ids`: where each id of the catalog is declared.
 */
export function claimAliases(claims: readonly AliasClaim[], ids: ReadonlyMap<string, CatalogObject>): ClaimedAliases {
  const owners = new Map<string, AliasClaim>();
  const refused: { readonly object: CatalogObject; readonly fault: SchemaFault }[] = [];
  for (const claim of claims.toSorted((a, b) => a.createdAt - b.createdAt)) {
    for (const [index, alias] of claim.aliases.entries()) {
      const taken = ids.get(alias) ?? owners.get(alias)?.object;
      if (taken === undefined) owners.set(alias, claim);
      else {
        const what = ids.has(alias) ? 'the id of' : 'already an alias of';
        const message = `expected a name of its own, "${alias}" is ${what} ${taken.where}`;
        refused.push({ object: claim.object, fault: { path: ['spec', 'aliases', index], message } });
      }
    }
  }
  return { aliases: new Map([...owners].map(([alias, { modelId }]) => [alias, modelId])), refused };
}
