import * as z from 'zod';
import type { CatalogObject } from '../core/catalog.ts';
import { type Collection, type CollectionOptions, followCollection } from './collection.ts';

/** Which keys of which Secrets somebody refers to. */
export type WantedKeys = ReadonlyMap<string, ReadonlySet<string>>;

export interface SecretsOptions extends Pick<CollectionOptions<never>, 'client' | 'clock' | 'random' | 'onChange'> {
  readonly namespace: string;
}

export interface Secrets {
  /** From now on these are followed, and no others. */
  readonly want: (wanted: WantedKeys) => void;
  /** What is there of the wanted keys; the same object as long as none of them changes. */
  readonly objects: () => readonly CatalogObject[];
  /** Those that are followed, by name. */
  readonly collections: () => ReadonlyMap<string, Collection<unknown>>;
  readonly close: () => Promise<void>;
}

interface Followed {
  keys: ReadonlySet<string>;
  readonly collection: Collection<Item>;
  last: { readonly text: string; readonly object: CatalogObject } | undefined;
}

interface Item {
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

const rawSecret = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).nullish(),
});

function readSecret(raw: unknown, known: ReadonlyMap<string, Item>): { readonly name: string; readonly item: Item } {
  const { metadata, data } = rawSecret.parse(raw);
  const { name, resourceVersion } = metadata;
  const before = known.get(name);
  return { name, item: before?.resourceVersion === resourceVersion ? before : { resourceVersion, data: data ?? {} } };
}

/**
 * Follows Secrets by name, each with a watch of its own that selects just that one: the others of the namespace are
 * never asked for, so that a role may grant no more than their names.
 */
export function followSecrets(options: SecretsOptions): Secrets {
  const followed = new Map<string, Followed>();
  const ending = new Set<Promise<void>>();

  function drop(name: string, { collection }: Followed): void {
    followed.delete(name);
    const ended = collection.close().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  return {
    want: (wanted) => {
      for (const [name, secret] of followed) if (!wanted.has(name)) drop(name, secret);
      for (const [name, keys] of wanted) {
        const known = followed.get(name);
        if (known !== undefined) known.keys = keys;
        else {
          const collection = followCollection<Item>({
            ...options,
            path: `/api/v1/namespaces/${options.namespace}/secrets`,
            fieldSelector: `metadata.name=${name}`,
            read: readSecret,
          });
          followed.set(name, { keys, collection, last: undefined });
        }
      }
    },
    objects: () => [...followed].flatMap(([name, secret]) => objectOf(name, secret) ?? []),
    collections: () => new Map([...followed].map(([name, { collection }]) => [name, collection])),
    close: async () => {
      for (const [name, secret] of followed) drop(name, secret);
      await Promise.all(ending);
    },
  };
}

function objectOf(name: string, secret: Followed): CatalogObject | undefined {
  const item = secret.collection.items().get(name);
  if (item === undefined) return undefined;
  const data = Object.fromEntries(Object.entries(item.data).filter(([key]) => secret.keys.has(key)));
  const text = JSON.stringify(data);
  if (secret.last?.text === text) return secret.last.object;
  const object = { where: `Secret/${name}`, value: { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data } };
  secret.last = { text, object };
  return object;
}
