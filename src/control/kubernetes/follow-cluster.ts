import * as z from 'zod';
import type { CancelTimer } from '../../core/clock.ts';
import type { CatalogObject, KubeObject } from '../../core/catalog.ts';
import {
  allInStepAt,
  type Collection,
  type CollectionOptions,
  createCollections,
  followCollection,
  reportTroubleChanges,
  type Trouble,
} from './collection.ts';
import { followObjects } from './objects.ts';

/** All objects of a catalog, as the API server has them at one moment. */
export interface KubeReading {
  /** Backends, then Models, each in the order of their names: the same on every replica. */
  readonly objects: readonly KubeObject[];
  readonly secrets: readonly CatalogObject[];
}

interface FollowClusterOptions extends Pick<CollectionOptions<never>, 'client' | 'clock' | 'random'> {
  readonly namespace: string;
  /** The Secrets and ConfigMaps that Backends refer to. */
  readonly secretsOf: (backends: readonly KubeObject[]) => WantedKeys;
  /** Called with every reading, the first one included, once all of it has been listed. Must not throw. */
  readonly onReading: (reading: KubeReading) => void;
  /** The reasons why the readings may be out of date have changed; none: every change arrives. */
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

/** Wait after a change, because several objects are often applied at once. */
const quietMs = 25;
const maxQuietMs = 250;
/** Longest wait for a Secret: a Backend may arrive before the role that allows us to read its Secret. */
const secretsMs = 3_000;

/** Follows the Models and Backends of a namespace, and the Secrets and ConfigMaps that these objects name. */
export function followCluster(options: FollowClusterOptions) {
  const { client, namespace, clock, random } = options;
  const shared = { client, clock, random, onChange: noticed };
  let closed = false;
  let firstNoticedAt: number | undefined;
  let secretsSince: number | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  const reportTroubles = reportTroubleChanges(options.onTroubles, undefined);
  const backends = followObjects({ kind: 'Backend', namespace }, shared);
  const models = followObjects({ kind: 'Model', namespace }, shared);
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
    const waiting = [...secrets.collections.values()].some((secret) => !secret.isListed());
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
      ...[...secrets.collections].map(([place, secret]) => [subjectOf(place), secret] as const),
    ]);

  return {
    /** When the last reading was known to be complete (`Clock.now`); undefined: never. */
    inStepAt: (): number | undefined => allInStepAt(all().values()),
    close: async (): Promise<void> => {
      closed = true;
      cancelTimer();
      await Promise.all([models.close(), backends.close(), secrets.close()]);
    },
  };
}

function sorted(collection: Collection<KubeObject>): readonly KubeObject[] {
  return [...collection.items().values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The Secrets and ConfigMaps that Backends refer to, by kind and name (`Secret/vllm-a`), each with its wanted keys. */
type WantedKeys = ReadonlyMap<string, ReadonlySet<string>>;

interface SecretsOptions extends Omit<CollectionOptions<Item>, 'path' | 'read'> {
  readonly namespace: string;
}

/** The subject of troubles: `secrets/vllm-a`. */
const subjectOf = (place: string): string => place.toLowerCase().replace('/', 's/');

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
 * Follows Secrets and ConfigMaps by name, each with a watch of its own that selects just that one. The others of the namespace are
 * never read, so that a role may grant access to single names.
 */
function followSecrets({ namespace, ...options }: SecretsOptions) {
  const followed = createCollections<Item>((place) => {
    const [kind = '', name = ''] = place.split('/');
    return followCollection<Item>({
      ...options,
      path: `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s`,
      selected: { fieldSelector: `metadata.name=${name}` },
      read: readSecret,
    });
  });
  let keys: WantedKeys = new Map();
  let last: ReadonlyMap<string, WantedObject> = new Map();
  return {
    /** Follows these from now on, and no others. */
    want: (wanted: WantedKeys): void => {
      keys = wanted;
      followed.want(new Set(wanted.keys()));
    },
    /** Them with their wanted keys, as far as they exist: the same object as long as none of its keys changes. */
    objects: (): readonly CatalogObject[] => {
      last = new Map(
        [...followed.all].flatMap(([place, { items }]) => {
          const item = items().get(place.split('/')[1] ?? '');
          return item === undefined ? [] : [[place, wantedPart(place, item, { keys, before: last.get(place) })]];
        }),
      );
      return [...last.values()].map(({ object }) => object);
    },
    /** The followed objects, by kind and name. */
    collections: followed.all,
    close: followed.close,
  };
}

/** The wanted part of a Secret or ConfigMap. `text`: its entries, to compare. */
interface WantedObject {
  readonly text: string;
  readonly object: CatalogObject;
}

function wantedPart(
  where: string,
  item: Item,
  { keys, before }: { readonly keys: WantedKeys; readonly before: WantedObject | undefined },
): WantedObject {
  const [kind = '', name = ''] = where.split('/');
  const data = Object.fromEntries(Object.entries(item.data).filter(([key]) => keys.get(where)?.has(key)));
  const text = JSON.stringify(data);
  if (before?.text === text) return before;
  return { text, object: { where, value: { apiVersion: 'v1', kind, metadata: { name }, data } } };
}
