import type { CancelTimer, Clock } from '../core/clock.ts';
import {
  type Endpoint,
  type FollowEndpoints,
  type FoundEndpoints,
  isSameEndpoints,
  type Scheme,
  type ServiceSource,
} from '../core/endpoint.ts';
import { abortedBy, type KubeClient, sentenceOf } from './client.ts';
import { allInStepAt, type Collection, followCollection, reportTroubleChanges, type Trouble } from './collection.ts';
import { endpointsOf, readService, readSlice, type Service, type Slice } from './endpoint-slices.ts';

/** Endpoints by Service, port and scheme (`keyOf`). */
export type EndpointsByService = ReadonlyMap<string, readonly Endpoint[]>;

interface FollowServicesOptions {
  readonly client: Pick<KubeClient, 'core' | 'discovery' | 'watch'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** The endpoints that were known last. They are used until the API server answers. */
  readonly kept: EndpointsByService;
  /** The endpoints of a Service have changed. */
  readonly onChange: () => void;
  /** The reasons why endpoints may be out of date have changed; none: every change arrives. */
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

/** Follows Services on demand. The API server is asked as long as one Service is followed. */
export interface ServicesFollower {
  readonly follow: FollowEndpoints<ServiceSource>;
  /** The endpoints of all Services that are followed, as far as they are known. */
  readonly known: () => EndpointsByService;
  /** When the endpoints were known to be complete (`Clock.now`): undefined for never, Infinity while no Service is followed. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

/**
 * The API server answers in milliseconds. If it has not answered after this time, the last known endpoints are used.
 */
const answerTimeoutMs = 1_000;
/** Troubles that last less than this are not reported: a watch that opens or breaks off is in trouble for a moment. */
const quietMs = 250;
/**
 * After a change of a Service, further changes are gathered for this time, per thousand endpoints of that Service. Pods
 * that come and go by the hundred, or whose readiness flaps, make many changes a second, and writing 5,000 endpoints
 * for Envoy takes 27 ms.
 */
const gatherMs = 50;
const gatheredTogether = 1_000;

interface Followed {
  readonly source: ServiceSource;
  readonly scheme: Scheme;
  readonly onFound: (found: FoundEndpoints) => void;
  /** The objects that the endpoints were computed from. */
  from: { readonly slices: readonly Slice[]; readonly service: Service | undefined } | undefined;
  found: FoundEndpoints | undefined;
}

/** The objects that are watched at the API server. */
interface Watched {
  readonly slices: Collection<Slice>;
  readonly services: Collection<Service>;
  readonly cancelTimeout: CancelTimer;
}

const noSlices: readonly Slice[] = [];

export function followServices(options: FollowServicesOptions): ServicesFollower {
  const { client, namespace, clock, random } = options;
  const all = new Set<Followed>();
  const ending = new Set<Promise<unknown>>();
  let watched: Watched | undefined;
  let byService: ReadonlyMap<string | undefined, readonly Slice[]> | undefined;
  let isLate = false;
  let cancelTroubles: CancelTimer | undefined;
  let cancelGathering: CancelTimer | undefined;
  let isBehind = false;
  const reportChanges = reportTroubleChanges(options.onTroubles, []);

  function begin(): Watched {
    const shared = { client, clock, random, onChange: changed };
    const at = `namespaces/${namespace}`;
    return {
      slices: followCollection<Slice>({
        ...shared,
        kind: {
          path: `/apis/discovery.k8s.io/v1/${at}/endpointslices`,
          list: (page, signal) =>
            client.discovery.listNamespacedEndpointSlice({ namespace, ...page }, abortedBy(signal)),
        },
        read: readSlice,
      }),
      services: followCollection<Service>({
        ...shared,
        kind: {
          path: `/api/v1/${at}/services`,
          list: (page, signal) => client.core.listNamespacedService({ namespace, ...page }, abortedBy(signal)),
        },
        read: readService,
      }),
      cancelTimeout: clock.after(answerTimeoutMs, () => {
        isLate = true;
        for (const one of all) lookAt(one);
      }),
    };
  }

  function changed(): void {
    // A watch may still report while it is being closed.
    if (watched === undefined) return;
    cancelTroubles ??= clock.after(quietMs, reportTroubles);
    byService = undefined;
    isBehind = true;
    if (cancelGathering === undefined) lookAtAll();
  }

  function lookAtAll(): void {
    isBehind = false;
    let most: number | undefined;
    for (const one of all) if (lookAt(one)) most = Math.max(most ?? 0, one.found?.endpoints.length ?? 0);
    if (most === undefined) return;
    cancelGathering = clock.after(gatherMs * Math.max(1, most / gatheredTogether), () => {
      cancelGathering = undefined;
      if (isBehind) lookAtAll();
    });
  }

  /** Computes the endpoints of a Service if its slices or the Service have changed. Returns whether it did. */
  function lookAt(one: Followed): boolean {
    if (watched === undefined) return false;
    const { slices, services } = watched;
    const { source, scheme, from } = one;
    // The slices have the names of the ports. So Services, and the right to read them, are needed only for port
    // numbers.
    const needsServices = !isLate || typeof source.port === 'number';
    if (!slices.isListed() || (needsServices && !services.isListed())) {
      if (isLate && one.found === undefined) publish(one, lastKnown(one, watched));
      return false;
    }
    byService ??= Map.groupBy(slices.items().values(), ({ service }) => service);
    const [service, own] = [services.items().get(source.service), byService.get(source.service) ?? noSlices];
    if (from !== undefined && from.service === service && isSame(from.slices, own)) return false;
    one.from = { slices: own, service };
    publish(one, endpointsOf({ source, scheme, namespace, service, slices: own }));
    return true;
  }

  function publish(one: Followed, found: FoundEndpoints): void {
    const { found: before } = one;
    if (before?.trouble === found.trouble && before !== undefined && isSameEndpoints(before.endpoints, found.endpoints))
      return;
    one.found = found;
    one.onFound(found);
    options.onChange();
  }

  function lastKnown(one: Followed, { slices, services }: Watched): FoundEndpoints {
    const endpoints = options.kept.get(keyOf(one)) ?? [];
    const reason = sentenceOf(slices.trouble() ?? services.trouble());
    return { endpoints, trouble: endpoints.length > 0 ? undefined : `spec.service: not known yet: ${reason}` };
  }

  const named = (): ReadonlyMap<string, Collection<unknown>> =>
    new Map<string, Collection<unknown>>(
      watched === undefined
        ? []
        : [
            ['endpointslices', watched.slices],
            ['services', watched.services],
          ],
    );

  function reportTroubles(): void {
    cancelTroubles = undefined;
    reportChanges(named());
  }

  function end(): void {
    if (watched === undefined) return;
    const { slices, services, cancelTimeout } = watched;
    watched = undefined;
    byService = undefined;
    isLate = false;
    cancelTimeout();
    cancelTroubles?.();
    cancelTroubles = undefined;
    cancelGathering?.();
    cancelGathering = undefined;
    const ended = Promise.all([slices.close(), services.close()]).finally(() => ending.delete(ended));
    ending.add(ended);
  }

  return {
    follow: (source, { scheme, onFound }) => {
      const one: Followed = { source, scheme, onFound, from: undefined, found: undefined };
      all.add(one);
      watched ??= begin();
      lookAt(one);
      return () => {
        all.delete(one);
        if (all.size === 0) end();
      };
    },
    known: () =>
      new Map([...all].flatMap((one) => (one.found === undefined ? [] : [[keyOf(one), one.found.endpoints]]))),
    inStepAt: () => allInStepAt(named().values()),
    close: async () => {
      all.clear();
      end();
      await Promise.all(ending);
    },
  };
}

function isSame(before: readonly Slice[], now: readonly Slice[]): boolean {
  return before.length === now.length && before.every((slice, index) => slice === now[index]);
}

function keyOf({ source: { service, port }, scheme }: Pick<Followed, 'source' | 'scheme'>): string {
  return `${scheme} ${service} ${port}`;
}
