import type { InferencePoolSource } from '../../core/endpoint.ts';
import { abortedBy, isRefusal, type KubeClient, sentenceOf } from './client.ts';
import { allInStepAt, type Collection, followCollection } from './collection.ts';
import { type EndpointsFollower, type FollowerOptions, followOnDemand, type Watches } from './follow-on-demand.ts';
import {
  endpointsOfPool,
  type InferencePool,
  type Pod,
  poolFault,
  poolGroup,
  readPod,
  readPool,
} from './inference-pool.ts';

interface FollowPoolsOptions extends FollowerOptions {
  readonly client: Pick<KubeClient, 'core' | 'objects' | 'watch'>;
  readonly namespace: string;
  readonly random: () => number;
}

/** Follows InferencePools and their pods. The CRD of InferencePool need not be installed. */
export function followPools(options: FollowPoolsOptions): EndpointsFollower<InferencePoolSource> {
  return followOnDemand<InferencePoolSource>(
    {
      field: 'spec.inferencePool',
      describe: (trouble) =>
        isRefusal(trouble, 403)
          ? `${sentenceOf(trouble)}; the chart grants this right with rbac.inferencePools`
          : sentenceOf(trouble),
      // A key of a Service has a third part, its port.
      keyOf: ({ source: { pool }, scheme }) => `${scheme} inferencepool/${pool}`,
      watch: (onChange) => watchPools(options, onChange),
    },
    options,
  );
}

/**
 * One watch of InferencePools for the namespace, and one of pods for each selector in use. The API server then sends only
 * the pods of the pools: other pods of the namespace can be many, and they change often.
 */
function watchPools(options: FollowPoolsOptions, onChange: () => void): Watches<InferencePoolSource> {
  const { client, namespace, clock, random } = options;
  const shared = { client, clock, random, onChange };
  const { group, version, plural } = poolGroup;
  const pools = followCollection<InferencePool>({
    ...shared,
    kind: {
      path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
      list: (page, signal) =>
        client.objects.listNamespacedCustomObject({ ...poolGroup, namespace, ...page }, abortedBy(signal)),
    },
    read: readPool,
  });
  const podsBySelector = new Map<string, Collection<Pod>>();
  const ending = new Set<Promise<void>>();

  const followPods = (labelSelector: string): Collection<Pod> =>
    followCollection<Pod>({
      ...shared,
      kind: {
        path: `/api/v1/namespaces/${namespace}/pods`,
        list: (page, signal) => client.core.listNamespacedPod({ namespace, ...page }, abortedBy(signal)),
      },
      selected: { labelSelector },
      read: readPod,
    });

  /** The API server answers, and knows no InferencePools. */
  const isNotInstalled = (): boolean => isRefusal(pools.trouble(), 404);

  function drop(selector: string, pods: Collection<Pod>): void {
    podsBySelector.delete(selector);
    const ended = pods.close().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  return {
    collections: () =>
      new Map<string, Collection<unknown>>([
        [plural, pools],
        ...[...podsBySelector].map(([selector, pods]) => [`pods (${selector})`, pods] as const),
      ]),
    want: (sources) => {
      const selectors = new Set(
        sources.flatMap(({ pool: name }) => {
          const pool = pools.items().get(name);
          return pool === undefined || poolFault(pool, name) !== undefined ? [] : [pool.selector];
        }),
      );
      for (const [selector, pods] of podsBySelector) if (!selectors.has(selector)) drop(selector, pods);
      for (const selector of selectors) {
        if (!podsBySelector.has(selector)) podsBySelector.set(selector, followPods(selector));
      }
    },
    compute: ({ source, scheme }) => {
      const pool = pools.items().get(source.pool);
      if (pool === undefined) {
        const state = isNotInstalled() ? 'not-installed' : pools.isListed() ? 'missing' : undefined;
        return state && { inputs: [state], endpoints: () => endpointsOfPool(source, { state }, scheme) };
      }
      const followed = podsBySelector.get(pool.selector);
      // While the pods of a changed selector are being listed, those of the earlier one are used.
      if (poolFault(pool, source.pool) === undefined && followed?.isListed() !== true) return undefined;
      const pods = [...(followed?.items().values() ?? [])];
      return {
        inputs: [pool, ...pods],
        endpoints: () => endpointsOfPool(source, { state: 'found', pool, pods }, scheme),
      };
    },
    // A cluster without the CRD has no pool that could be out of date.
    inStepAt: () => allInStepAt([...(isNotInstalled() ? [] : [pools]), ...podsBySelector.values()]),
    close: async () => {
      for (const [selector, pods] of podsBySelector) drop(selector, pods);
      await Promise.all([pools.close(), ...ending]);
    },
  };
}
