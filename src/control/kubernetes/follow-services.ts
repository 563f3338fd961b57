import type { ServiceSource } from '../../core/endpoint.ts';
import { sentenceOf } from './client.ts';
import { allInStepAt, type Collection, type CollectionOptions, followCollection } from './collection.ts';
import { endpointsOf, readService, readSlice, type Service, type Slice } from './endpoint-slices.ts';
import { type EndpointsFollower, type FollowerOptions, followOnDemand, type Watches } from './follow-on-demand.ts';

interface FollowServicesOptions extends FollowerOptions, Pick<CollectionOptions<never>, 'client' | 'random'> {
  readonly namespace: string;
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
    path: `/apis/discovery.k8s.io/v1/${at}/endpointslices`,
    read: readSlice,
  });
  const services = followCollection<Service>({
    ...shared,
    path: `/api/v1/${at}/services`,
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
