import type { ServiceSource } from '../../core/endpoint.ts';
import { abortedBy, type KubeClient, sentenceOf } from './client.ts';
import { allInStepAt, type Collection, followCollection } from './collection.ts';
import { endpointsOf, readService, readSlice, type Service, type Slice } from './endpoint-slices.ts';
import { type EndpointsFollower, type FollowerOptions, followOnDemand, type Watches } from './follow-on-demand.ts';

interface FollowServicesOptions extends FollowerOptions {
  readonly client: Pick<KubeClient, 'core' | 'discovery' | 'watch'>;
  readonly namespace: string;
  readonly random: () => number;
}

const noSlices: readonly Slice[] = [];

/** Follows Services through their EndpointSlices. */
export function followServices(options: FollowServicesOptions): EndpointsFollower<ServiceSource> {
  return followOnDemand<ServiceSource>(
    {
      field: 'spec.service',
      describe: sentenceOf,
      keyOf: ({ source: { service, port }, scheme }) => `${scheme} ${service} ${port}`,
      watch: (onChange) => watchServices(options, onChange),
    },
    options,
  );
}

/** One watch of EndpointSlices and one of Services, for the whole namespace. */
function watchServices(options: FollowServicesOptions, onChange: () => void): Watches<ServiceSource> {
  const { client, namespace, clock, random } = options;
  const at = `namespaces/${namespace}`;
  let byService: ReadonlyMap<string | undefined, readonly Slice[]> | undefined;
  const shared = {
    ...{ client, clock, random },
    onChange: () => {
      byService = undefined;
      onChange();
    },
  };
  const slices = followCollection<Slice>({
    ...shared,
    kind: {
      path: `/apis/discovery.k8s.io/v1/${at}/endpointslices`,
      list: (page, signal) => client.discovery.listNamespacedEndpointSlice({ namespace, ...page }, abortedBy(signal)),
    },
    read: readSlice,
  });
  const services = followCollection<Service>({
    ...shared,
    kind: {
      path: `/api/v1/${at}/services`,
      list: (page, signal) => client.core.listNamespacedService({ namespace, ...page }, abortedBy(signal)),
    },
    read: readService,
  });
  return {
    collections: () =>
      new Map<string, Collection<unknown>>([
        ['endpointslices', slices],
        ['services', services],
      ]),
    compute: ({ source, scheme, isLate }) => {
      // The slices have the names of the ports. So Services, and the right to read them, are needed only for port
      // numbers.
      const needsServices = !isLate || typeof source.port === 'number';
      if (!slices.isListed() || (needsServices && !services.isListed())) return undefined;
      byService ??= Map.groupBy(slices.items().values(), (slice) => slice.service);
      const [service, own] = [services.items().get(source.service), byService.get(source.service) ?? noSlices];
      return {
        inputs: [service, ...own],
        endpoints: () => endpointsOf({ source, scheme, namespace, service, slices: own }),
      };
    },
    inStepAt: () => allInStepAt([slices, services]),
    close: () => Promise.all([slices.close(), services.close()]),
  };
}
