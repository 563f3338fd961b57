import type { Clock } from '../../core/clock.ts';
import { type AccountKind, accountKinds, type AccountObject } from '../../books/core/declared-account.ts';
import { abortedBy, type KubeClient } from './client.ts';
import { type Collection, followCollection, reportTroubleChanges, type Trouble } from './collection.ts';
import { placeOf, readKubeObject } from './objects.ts';

interface FollowAccountsOptions {
  readonly client: Pick<KubeClient, 'objects' | 'watch'>;
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly random: () => number;
  /** These objects have changed or are gone. Called at most once in `quietMs`. */
  readonly onChange: (changed: readonly AccountObject[]) => void;
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

export interface FollowedAccounts {
  /** All objects: Workspaces, then ApiKeys, then Credits. */
  readonly objects: () => readonly AccountObject[];
  readonly find: (
    kind: AccountKind,
    place: { readonly namespace: string; readonly name: string },
  ) => AccountObject | undefined;
  /** Whether every kind of a namespace has been listed, so that an object that is not here does not exist. */
  readonly isListed: (namespace: string) => boolean;
  readonly close: () => Promise<void>;
}

/** A change is acted upon at once, and a group of changes together. */
const quietMs = 10;

/** Follows the accounts that objects of these namespaces declare. */
export function followAccounts(options: FollowAccountsOptions): FollowedAccounts {
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

  const collections = new Map(
    accountKinds.flatMap((kind) =>
      namespaces.map((namespace) => [keyOf(kind, namespace), follow(kind, namespace)] as const),
    ),
  );

  function follow(kind: AccountKind, namespace: string): Collection<AccountObject> {
    const place = placeOf(kind, namespace);
    return followCollection<AccountObject>({
      ...{ client, clock, random, onChange: noticed },
      kind: {
        path: `/apis/${place.group}/${place.version}/namespaces/${namespace}/${place.plural}`,
        list: (page, signal) => client.objects.listNamespacedCustomObject({ ...place, ...page }, abortedBy(signal)),
      },
      read: (raw, known) => {
        const read = readKubeObject(kind, raw, undefined);
        const before = known.get(read.name);
        const isSame = before?.uid === read.uid && before.resourceVersion === read.resourceVersion;
        return { name: read.name, item: isSame ? before : { ...read, namespace } };
      },
    });
  }

  const named = () => [...collections].map(([key, collection]) => [key.toLowerCase(), collection] as const);

  return {
    objects: () => [...collections.values()].flatMap((collection) => [...collection.items().values()]),
    find: (kind, { namespace, name }) => collections.get(keyOf(kind, namespace))?.items().get(name),
    isListed: (namespace) => accountKinds.every((kind) => collections.get(keyOf(kind, namespace))?.isListed() === true),
    close: async () => {
      closed = true;
      await Promise.all([...collections.values()].map((collection) => collection.close()));
    },
  };
}

const keyOf = (kind: AccountKind, namespace: string): string => `${namespace}/${kind}s`;
