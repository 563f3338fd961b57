import type { InferencePoolSource } from '../../core/endpoint.ts';
import { isRefusal, sentenceOf } from './client.ts';
import {
  allInStepAt,
  type Collection,
  type CollectionOptions,
  createCollections,
  followCollection,
} from './collection.ts';
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

interface FollowPoolsOptions extends FollowerOptions, Pick<CollectionOptions<never>, 'client' | 'random'> {
  readonly namespace: string;
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
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    read: readPool,
  });
  const pods = createCollections<Pod>((labelSelector) =>
    followCollection<Pod>({
      ...shared,
      path: `/api/v1/namespaces/${namespace}/pods`,
      selected: { labelSelector },
      read: readPod,
    }),
  );

  /** The API server answers, and knows no InferencePools. */
  const isNotInstalled = (): boolean => isRefusal(pools.trouble(), 404);

  return {
    collections: () =>
      new Map<string, Collection<unknown>>([
        [plural, pools],
        ...[...pods.all].map(([selector, selected]) => [`pods (${selector})`, selected] as const),
      ]),
    want: (sources) => {
      const selectors = new Set(
        sources.flatMap(({ pool: name }) => {
          const pool = pools.items().get(name);
          return pool === undefined || poolFault(pool, name) !== undefined ? [] : [pool.selector];
        }),
      );
      pods.want(selectors);
    },
    compute: ({ source, scheme }) => {
      const pool = pools.items().get(source.pool);
      if (pool === undefined) {
        const state = isNotInstalled() ? 'not-installed' : pools.isListed() ? 'missing' : undefined;
        return state && { inputs: [state], endpoints: () => endpointsOfPool(source, { state }, scheme) };
      }
      const followed = pods.all.get(pool.selector);
      // While the pods of a changed selector are being listed, those of the earlier one are used.
      if (poolFault(pool, source.pool) === undefined && followed?.isListed() !== true) return undefined;
      const selected = [...(followed?.items().values() ?? [])];
      return {
        inputs: [pool, ...selected],
        endpoints: () => endpointsOfPool(source, { state: 'found', pool, pods: selected }, scheme),
      };
    },
    // A cluster without the CRD has no pool that could be out of date.
    inStepAt: () => allInStepAt([...(isNotInstalled() ? [] : [pools]), ...pods.all.values()]),
    close: () => Promise.all([pools.close(), pods.close()]),
  };
}
