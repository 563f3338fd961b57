import * as z from 'zod';
import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { CatalogObject, KubeObject } from '../../core/catalog.ts';
import { abortedBy, type KubeClient } from './client.ts';
import {
  allInStepAt,
  type Collection,
  type CollectionOptions,
  followCollection,
  type ListPage,
  reportTroubleChanges,
  type Trouble,
} from './collection.ts';
import { placeOf, readKubeObject } from './objects.ts';

/** All objects of a catalog, as the API server has them at one moment. */
export interface KubeReading {
  /** Backends, then Models, each in the order of their names: the same on every replica. */
  readonly objects: readonly KubeObject[];
  readonly secrets: readonly CatalogObject[];
}

interface FollowClusterOptions {
  readonly client: Pick<KubeClient, 'objects' | 'core' | 'watch'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** The Secrets and ConfigMaps that Backends refer to. */
  readonly secretsOf: (backends: readonly KubeObject[]) => WantedKeys;
  /** Called with every reading, the first one included, once all of it has been listed. Must not throw. */
  readonly onReading: (reading: KubeReading) => void;
  /** The reasons why the readings may be out of date have changed; none: every change arrives. */
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

interface ClusterFollower {
  /** When the last reading was known to be complete (`Clock.now`); undefined: never. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** Wait after a change, because several objects are often applied at once. */
const quietMs = 25;
const maxQuietMs = 250;
/** Longest wait for a Secret: a Backend may arrive before the role that allows us to read its Secret. */
const secretsMs = 3_000;

/** Follows the Models and Backends of a namespace, and the Secrets and ConfigMaps that these objects name. */
export function followCluster(options: FollowClusterOptions): ClusterFollower {
  const { client, namespace, clock, random } = options;
  const shared = { client, clock, random, onChange: noticed };
  const follow = (kind: KubeObject['kind']): Collection<KubeObject> => {
    const place = placeOf(kind, namespace);
    return followCollection<KubeObject>({
      ...shared,
      kind: {
        path: `/apis/${place.group}/${place.version}/namespaces/${namespace}/${place.plural}`,
        list: (page, signal) => client.objects.listNamespacedCustomObject({ ...place, ...page }, abortedBy(signal)),
      },
      read: (raw, known) => {
        const item = readKubeObject(kind, raw, known.get(nameOf(raw)));
        return { name: item.name, item };
      },
    });
  };
  let closed = false;
  let firstNoticedAt: number | undefined;
  let secretsSince: number | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  const reportTroubles = reportTroubleChanges(options.onTroubles, undefined);
  const backends = follow('Backend');
  const models = follow('Model');
  const secrets = followSecrets({ ...shared, namespace });

  function noticed(): void {
    if (closed) return;
    firstNoticedAt ??= clock.elapsed();
    const left = firstNoticedAt + maxQuietMs - clock.elapsed();
    arm(Math.max(0, Math.min(quietMs, left)));
  }

  function arm(delayMs: number): void {
    cancelTimer();
    cancelTimer = clock.after(delayMs, read);
  }

  function read(): void {
    firstNoticedAt = undefined;
    reportTroubles(all());
    if (!backends.isListed() || !models.isListed()) return;
    const allBackends = sorted(backends);
    secrets.want(options.secretsOf(allBackends));
    const waiting = [...secrets.collections().values()].some((secret) => !secret.isListed());
    secretsSince = waiting ? (secretsSince ?? clock.elapsed()) : undefined;
    if (secretsSince !== undefined) {
      const left = secretsSince + secretsMs - clock.elapsed();
      if (left > 0) {
        arm(left);
        return;
      }
    }
    options.onReading({ objects: [...allBackends, ...sorted(models)], secrets: secrets.objects() });
  }

  const all = (): ReadonlyMap<string, Collection<unknown>> =>
    new Map<string, Collection<unknown>>([
      ['models', models],
      ['backends', backends],
      ...[...secrets.collections()].map(([place, secret]) => [subjectOf(place), secret] as const),
    ]);

  return {
    inStepAt: () => allInStepAt(all().values()),
    close: async () => {
      closed = true;
      cancelTimer();
      await Promise.all([models.close(), backends.close(), secrets.close()]);
    },
  };
}

function nameOf(raw: unknown): string {
  const metadata: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'metadata') : undefined;
  return typeof metadata === 'object' && metadata !== null ? String(Reflect.get(metadata, 'name')) : '';
}

function sorted(collection: Collection<KubeObject>): readonly KubeObject[] {
  return [...collection.items().values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The Secrets and ConfigMaps that Backends refer to, by kind and name (`Secret/vllm-a`), each with its wanted keys. */
type WantedKeys = ReadonlyMap<string, ReadonlySet<string>>;

interface SecretsOptions extends Pick<CollectionOptions<never>, 'clock' | 'random'> {
  readonly onChange: () => void;
  readonly client: Pick<KubeClient, 'core' | 'watch'>;
  readonly namespace: string;
}

/** The subject of troubles: `secrets/vllm-a`. */
const subjectOf = (place: string): string => place.toLowerCase().replace('/', 's/');

/** Secrets and ConfigMaps. */
interface Secrets {
  /** Follows these from now on, and no others. */
  readonly want: (wanted: WantedKeys) => void;
  /** Them with their wanted keys, as far as they exist: the same object as long as none of its keys changes. */
  readonly objects: () => readonly CatalogObject[];
  /** Those that are followed, by kind and name. */
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

/** How each kind is listed. */
const lists: Readonly<Record<string, { readonly plural: string; readonly list: SecretList }>> = {
  Secret: { plural: 'secrets', list: (core, page, signal) => core.listNamespacedSecret(page, abortedBy(signal)) },
  ConfigMap: {
    plural: 'configmaps',
    list: (core, page, signal) => core.listNamespacedConfigMap(page, abortedBy(signal)),
  },
};
type SecretList = (
  core: KubeClient['core'],
  page: ListPage & { readonly namespace: string },
  signal: AbortSignal,
) => Promise<unknown>;

function readSecret(raw: unknown, known: ReadonlyMap<string, Item>): { readonly name: string; readonly item: Item } {
  const { metadata, data } = rawSecret.parse(raw);
  const { name, resourceVersion } = metadata;
  const before = known.get(name);
  return { name, item: before?.resourceVersion === resourceVersion ? before : { resourceVersion, data: data ?? {} } };
}

/**
 * Follows Secrets and ConfigMaps by name, each with a watch of its own that selects just that one. The others of the namespace are
 * never read, so that a role may grant access to single names.
 */
function followSecrets(options: SecretsOptions): Secrets {
  const { client, namespace } = options;
  const followed = new Map<string, Followed>();
  const ending = new Set<Promise<void>>();

  function drop(place: string, { collection }: Followed): void {
    followed.delete(place);
    const ended = collection.close().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  return {
    want: (wanted) => {
      for (const [place, secret] of followed) if (!wanted.has(place)) drop(place, secret);
      for (const [place, keys] of wanted) {
        const known = followed.get(place);
        const [kind = '', name = ''] = place.split('/');
        const listed = lists[kind];
        if (known !== undefined) known.keys = keys;
        else if (listed !== undefined) {
          const collection = followCollection<Item>({
            ...options,
            kind: {
              path: `/api/v1/namespaces/${namespace}/${listed.plural}`,
              list: (page, signal) => listed.list(client.core, { namespace, ...page }, signal),
            },
            selected: { fieldSelector: `metadata.name=${name}` },
            read: readSecret,
          });
          followed.set(place, { keys, collection, last: undefined });
        }
      }
    },
    objects: () => [...followed].flatMap(([place, secret]) => objectOf(place, secret) ?? []),
    collections: () => new Map([...followed].map(([place, { collection }]) => [place, collection])),
    close: async () => {
      for (const [place, secret] of followed) drop(place, secret);
      await Promise.all(ending);
    },
  };
}

function objectOf(where: string, secret: Followed): CatalogObject | undefined {
  const [kind = '', name = ''] = where.split('/');
  const item = secret.collection.items().get(name);
  if (item === undefined) return undefined;
  const data = Object.fromEntries(Object.entries(item.data).filter(([key]) => secret.keys.has(key)));
  const text = JSON.stringify(data);
  if (secret.last?.text === text) return secret.last.object;
  const object = { where, value: { apiVersion: 'v1', kind, metadata: { name }, data } };
  secret.last = { text, object };
  return object;
}
