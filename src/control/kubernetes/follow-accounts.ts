import { type AccountKind, accountKinds, type AccountObject } from '../../books/core/declared-account.ts';
import { type Collection, type CollectionOptions, reportTroubleChanges, type Trouble } from './collection.ts';
import { followObjects, pluralOf } from './objects.ts';

interface FollowAccountsOptions extends Pick<CollectionOptions<never>, 'client' | 'clock' | 'random'> {
  readonly namespaces: readonly string[];
  /** These objects have changed or are gone. Called at most once in `quietMs`. */
  readonly onChange: (changed: readonly AccountObject[]) => void;
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

export type FollowedAccounts = ReturnType<typeof followAccounts>;

/** A change is acted upon at once, and a group of changes together. */
const quietMs = 10;

/** Follows the accounts that objects of these namespaces declare. */
export function followAccounts(options: FollowAccountsOptions) {
  const { client, namespaces, clock, random } = options;
  const reportTroubles = reportTroubleChanges(options.onTroubles, []);
  let isNoticed = false;
  let closed = false;

  /** An object that changes again meanwhile is here once. */
  const changed = new Map<string, AccountObject>();

  function noticed(objects: readonly AccountObject[]): void {
    for (const object of objects) changed.set(`${keyOf(object.kind, object.namespace)}/${object.name}`, object);
    if (isNoticed || closed) return;
    isNoticed = true;
    clock.after(quietMs, () => {
      isNoticed = false;
      if (closed) return;
      reportTroubles(named());
      const objects = [...changed.values()];
      changed.clear();
      options.onChange(objects);
    });
  }

  const shared = { client, clock, random, onChange: noticed };
  const collections = new Map<string, Collection<AccountObject>>(
    accountKinds.flatMap((kind) =>
      namespaces.map((namespace) => [keyOf(kind, namespace), followObjects({ kind, namespace }, shared)] as const),
    ),
  );

  const named = () => [...collections].map(([key, collection]) => [key.toLowerCase(), collection] as const);

  return {
    /** All objects, in the order of their kinds. */
    objects: (): readonly AccountObject[] =>
      [...collections.values()].flatMap((collection) => [...collection.items().values()]),
    find: (
      kind: AccountKind,
      { namespace, name }: { readonly namespace: string; readonly name: string },
    ): AccountObject | undefined => collections.get(keyOf(kind, namespace))?.items().get(name),
    /** Whether every kind of a namespace has been listed, so that an object that is not here does not exist. */
    isListed: (namespace: string): boolean =>
      accountKinds.every((kind) => collections.get(keyOf(kind, namespace))?.isListed() === true),
    close: async (): Promise<void> => {
      closed = true;
      await Promise.all([...collections.values()].map((collection) => collection.close()));
    },
  };
}

const keyOf = (kind: AccountKind, namespace: string): string => `${namespace}/${pluralOf(kind)}`;
