import type { CatalogObject, KubeObject } from '../core/catalog.ts';
import type { Clock, CancelTimer } from '../core/clock.ts';
import { sentenceOf } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Collection, followCollection } from './collection.ts';
import { readKubeObject } from './read-object.ts';
import { followSecrets, type WantedKeys } from './secrets.ts';

/** All that a catalog is made of, as the API server has it at one moment. */
export interface KubeReading {
  /** Backends, then Models, each in the order of their names: the same on every replica. */
  readonly objects: readonly KubeObject[];
  readonly secrets: readonly CatalogObject[];
}

export interface FollowClusterOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** The Secrets that a Backend refers to. */
  readonly secretsOf: (backends: readonly KubeObject[]) => WantedKeys;
  /** Called with every reading, the first one included, once all of it has been listed. Must not throw. */
  readonly onReading: (reading: KubeReading) => void;
  /** What keeps it from being in step with the API server has changed; none: it is. */
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

export interface Trouble {
  /** `models`, `backends` or `secrets/NAME`. */
  readonly of: string;
  readonly reason: string;
}

export interface ClusterFollower {
  /** When what it last read was known to be all there is (`Clock.now`); undefined: never. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** Objects are often applied several at once. */
const quietMs = 25;
const mostQuietMs = 250;
/** A Backend may come before the role that lets us read its Secret: it is not waited for longer than this. */
const secretsMs = 3_000;

/** Follows the Models and Backends of a namespace, and the Secrets that those name. */
export function followCluster(options: FollowClusterOptions): ClusterFollower {
  const { client, namespace, clock, random } = options;
  const shared = { client, clock, random, onChange: noticed };
  const follow = (kind: KubeObject['kind'], plural: string): Collection<KubeObject> =>
    followCollection<KubeObject>({
      ...shared,
      path: `/apis/weir.dev/v1alpha1/namespaces/${namespace}/${plural}`,
      read: (raw, known) => {
        const item = readKubeObject(kind, raw, known.get(nameOf(raw)));
        return { name: item.name, item };
      },
    });
  let closed = false;
  let firstNoticedAt: number | undefined;
  let secretsSince: number | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  let troublesText = '';
  const backends = follow('Backend', 'backends');
  const models = follow('Model', 'models');
  const secrets = followSecrets({ ...shared, namespace });

  function noticed(): void {
    if (closed) return;
    firstNoticedAt ??= clock.elapsed();
    const left = firstNoticedAt + mostQuietMs - clock.elapsed();
    arm(Math.max(0, Math.min(quietMs, left)));
  }

  function arm(delayMs: number): void {
    cancelTimer();
    cancelTimer = clock.after(delayMs, tell);
  }

  function tell(): void {
    firstNoticedAt = undefined;
    tellTroubles();
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
      ...([
        ['models', models],
        ['backends', backends],
      ] as const),
      ...[...secrets.collections()].map(([name, secret]) => [`secrets/${name}`, secret] as const),
    ]);

  function tellTroubles(): void {
    const troubles = [...all()].flatMap(([of, collection]) => {
      const trouble = collection.trouble();
      return trouble === undefined ? [] : [{ of, reason: sentenceOf(trouble) }];
    });
    const text = JSON.stringify(troubles);
    if (text === troublesText) return;
    troublesText = text;
    options.onTroubles(troubles);
  }

  return {
    inStepAt: () => {
      const moments = [...all().values()].map((collection) => collection.inStepAt());
      return moments.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.min(a, b)));
    },
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
