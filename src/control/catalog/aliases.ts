import type { CatalogObject, Model } from '../../core/catalog.ts';
import { metadataOf } from '../core/raw-object.ts';
import type { SchemaFault } from '../core/schema-faults.ts';

interface ClaimedAliases {
  /** The id of a model by its alias. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly refused: readonly { readonly object: CatalogObject; readonly fault: SchemaFault }[];
}

interface AliasClaims {
  readonly models: ReadonlyMap<string, Model>;
  /** The objects that the models come from, by id. */
  readonly owners: ReadonlyMap<string, CatalogObject>;
  /** The objects that declare a valid id, by id, even if nothing serves the id yet. */
  readonly declared: ReadonlyMap<string, CatalogObject>;
}

/**
 * Gives each alias to one model. An id wins over an alias, whichever object is older: an alias must not take a model
 * out of the catalog without notice (docs/decisions/0068-an-id-wins-over-an-alias.md). If two objects have the same
 * alias, the object created first keeps it; without known times, the first one in order does.
 */
export function claimAliases({ models, owners, declared }: AliasClaims): ClaimedAliases {
  const ids = new Map([...declared, ...owners]);
  const aliases = new Map<string, string>();
  const refused: { readonly object: CatalogObject; readonly fault: SchemaFault }[] = [];
  const claims = [...owners].map(([id, object]) => ({ id, object, createdAt: createdAt(object) }));
  for (const { id, object } of claims.sort((a, b) => a.createdAt - b.createdAt)) {
    for (const [index, alias] of (models.get(id)?.aliases ?? []).entries()) {
      const named = ids.get(alias);
      const taken = named ?? owners.get(aliases.get(alias) ?? '');
      if (taken === undefined) aliases.set(alias, id);
      else {
        const [what, why] = named === undefined ? ['already an alias of', whyFirst(taken, object)] : ['the id of', ''];
        const message = `expected a name of its own, "${alias}" is ${what} ${taken.where}${why}`;
        refused.push({ object, fault: { path: ['spec', 'aliases', index], message } });
      }
    }
  }
  return { aliases, refused };
}

/** The end of a message about an object that lost its name to the first one. Empty: the first one is older. */
export function whyFirst(first: CatalogObject, other: CatalogObject): string {
  return createdAt(first) === 0 && createdAt(other) === 0
    ? ', which counts because its file name and line come first'
    : '';
}

/** When an object was created, milliseconds since the epoch; 0 if that is unknown, as for objects in a folder. */
export function createdAt(object: CatalogObject): number {
  const { creationTimestamp: created } = metadataOf(object);
  return (typeof created === 'string' && Date.parse(created)) || 0;
}
