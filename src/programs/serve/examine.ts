import type { Compilation } from '../../control/catalog/compile.ts';
import type { ServedCatalog } from '../../control/reconcilers/catalog.ts';
import type { EndpointTable } from '../../control/reconcilers/follow-endpoints.ts';
import { systemLookUp } from '../../control/resolver/system-look-up.ts';
import type { Backend } from '../../core/catalog.ts';
import type { Check, Diagnosis, DoctorQuestion } from '../../core/diagnosis.ts';
import { authorityOf, type Endpoint, endpointName } from '../../core/endpoint.ts';
import { didYouMean } from '../../core/near-name.ts';
import { systemClock } from '../../process/clock.ts';

/** Most endpoints of one Backend that are examined. */
const maxEndpoints = 4;

interface ExaminedCatalog extends Pick<Compilation, 'snapshot' | 'backends'> {
  /** The endpoints of a Backend, and why there are none. */
  readonly endpointsOf: (backend: Backend) => Promise<FoundEndpoints>;
}

interface FoundEndpoints {
  readonly endpoints: readonly Pick<Endpoint, 'name' | 'authority'>[];
  readonly trouble?: string | undefined;
}

/** Examines a Backend, or all, one after the other: the engines have other work. Rejects if there is none of the name. */
export async function examine(
  { snapshot, backends, endpointsOf }: ExaminedCatalog,
  { backend: wanted, depth }: DoctorQuestion,
): Promise<readonly Diagnosis[]> {
  const [{ examineBackend }, { markSlow }] = await Promise.all([
    import('../../tools/engine-check/examine-backend.ts'),
    import('../../tools/engine-check/stream-speed.ts'),
  ]);
  const chosen = [...backends.values()].filter(({ name }) => wanted === undefined || name === wanted);
  if (wanted !== undefined && chosen.length === 0) {
    throw new Error(`There is no Backend ${wanted}${didYouMean(wanted, [...backends.keys()])}.`);
  }
  const declared = [...snapshot.models.values()].flatMap((model) => model.routes.map((route) => ({ model, route })));
  const diagnoses: Diagnosis[] = [];
  for (const backend of chosen) {
    const none = (check: Check): void =>
      void diagnoses.push({ backend: backend.name, endpoint: null, checks: [check] });
    if (backend.cluster.proxy !== undefined) {
      none({ check: 'reachable', found: 'unclear', note: 'it is behind a forward proxy: only requests can tell' });
      continue;
    }
    const { endpoints, trouble = 'it has no endpoint' } = await endpointsOf(backend);
    if (endpoints.length === 0) none({ check: 'reachable', found: 'bad', note: trouble });
    const routes = declared.filter(({ route }) => route.backend.name === backend.name);
    const examined = endpoints.slice(0, maxEndpoints);
    const how = { backend, routes, depth, clock: systemClock };
    const ofBackend = await Promise.all(examined.map((endpoint) => examineBackend({ ...how, endpoint })));
    diagnoses.push(...markSlow(ofBackend));
  }
  return diagnoses;
}

/** The doctor of a service: it knows the endpoints, and is where requests come from. */
export function createDoctor({
  catalog,
  endpoints,
}: {
  readonly catalog: Pick<ServedCatalog, 'look'>;
  readonly endpoints: Pick<EndpointTable, 'found'>;
}): (question: DoctorQuestion) => Promise<readonly Diagnosis[]> {
  const endpointsOf: ExaminedCatalog['endpointsOf'] = async ({ cluster }) =>
    endpoints.found(cluster.name) ?? { endpoints: [] };
  return async (question) => examine({ ...(await catalog.look()).compilation, endpointsOf }, question);
}

/** The endpoints of a Backend by the names that this machine knows. Those of a Service are known only in its cluster. */
export async function endpointsFromHere({ cluster }: Backend): Promise<FoundEndpoints> {
  const { endpoints: source, tls } = cluster;
  if (source.kind !== 'hosts') {
    return { endpoints: [], trouble: 'its pods are known only to a service in their cluster: run it there' };
  }
  const scheme = tls.mode === 'Disabled' ? 'http' : 'https';
  const found = await Promise.all(
    source.hosts.map(async ({ host, port }) => {
      const addresses = await systemLookUp(host).catch(() => []);
      return addresses.map((address) => ({
        name: endpointName(address, port),
        authority: authorityOf({ host, port }, scheme),
      }));
    }),
  );
  const names = source.hosts.map(({ host }) => host).join(', ');
  return { endpoints: found.flat(), trouble: `no such host: ${names}` };
}
