import { isObject } from '../../../src/core/json.ts';
import { parseUsd } from '../../../src/core/money.ts';
import type { ApiObject, ApiServer } from './api-server.ts';
import { isRefused } from './envoy.ts';
import { endpointsAt } from './objects.ts';
import type { SimulatedReplica } from './replica.ts';

const specOf = ({ spec }: ApiObject): Readonly<Record<string, unknown>> => (isObject(spec) ? spec : {});
const textAt = (fields: unknown, ...path: readonly string[]): string =>
  String(path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), fields));

/** A deleted Model stays for 14 days, unless its notice is waived. */
const isServed = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp === undefined || metadata.annotations?.['weir.dev/waive-notice'] !== 'true';

function backendsOf(model: ApiObject): readonly string[] {
  const { routes } = specOf(model);
  return (Array.isArray(routes) ? routes : []).map((route) => textAt(route, 'backend'));
}

interface BackendState {
  readonly isRefused: boolean;
  readonly isChecked: boolean;
  readonly endpoints: readonly string[];
}

/** How a Backend must be, from what the API server has. */
function stateOf(server: ApiServer, backend: ApiObject): BackendState {
  const spec = specOf(backend);
  const isChecked = isObject(spec['healthCheck']);
  const service = textAt(spec, 'service', 'name');
  if (isObject(spec['service'])) return { isRefused: false, isChecked, endpoints: endpointsAt(server, service) };
  const host = textAt(spec, 'endpoint', 'host');
  return { isChecked, isRefused: textAt(spec, 'healthCheck', 'path') === '/refused', endpoints: [`${host}:8000`] };
}

/** What differs between the API server and a service that has had time to follow it. */
export function servedFaults(server: ApiServer, replica: SimulatedReplica): readonly string[] {
  const snapshot = replica.snapshot();
  if (snapshot === undefined) return ['has no catalog'];
  const faults: string[] = [];
  const differs = (what: string, wanted: unknown, found: unknown): void => {
    if (JSON.stringify(wanted) !== JSON.stringify(found))
      faults.push(`${what} is ${JSON.stringify(found)} in place of ${JSON.stringify(wanted)}`);
  };
  const models = server.list('models').filter(isServed);
  const idOf = (model: ApiObject): string => textAt(specOf(model), 'id');
  differs('the list of models', models.map(idOf).toSorted(), [...snapshot.models.keys()].toSorted());
  for (const model of models) {
    const found = snapshot.models.get(idOf(model));
    const price = parseUsd(textAt(specOf(model), 'pricing', 'prompt'));
    differs(`the price of ${idOf(model)}`, String(price), String(found?.prices.prompt));
    differs(
      `the routes of ${idOf(model)}`,
      backendsOf(model),
      found?.routes.map(({ backend }) => backend.name),
    );
  }
  for (const backend of server.list('backends')) {
    const { name } = backend.metadata;
    const cluster = snapshot.clusters.find((each) => each.backend === name);
    // Only Backends that have a route have a cluster.
    if (cluster === undefined) continue;
    const found = replica.endpointsOf(cluster.name).map((endpoint) => endpoint.name);
    differs(`the list of endpoints of ${name}`, stateOf(server, backend).endpoints, found.toSorted());
  }
  return faults;
}

/** What is wrong with the status of the objects. `replicas`: how many are alive. */
export function statusFaults(server: ApiServer, replicas: number): readonly string[] {
  const backends = server.list('backends');
  const isUsable = (name: string): boolean => {
    const backend = backends.find(({ metadata }) => metadata.name === name);
    if (backend === undefined) return false;
    const { isRefused, endpoints } = stateOf(server, backend);
    return !isRefused && endpoints.length > 0;
  };
  const models = server.list('models');
  const left = models.flatMap((model) =>
    isServed(model) ? [] : [`Model ${model.metadata.name} is there, and its notice is waived`],
  );
  const statuses = [...backends, ...models].flatMap((object) => {
    const { metadata, kind, status } = object;
    const wanted =
      kind === 'Backend'
        ? backendConditions(stateOf(server, object), replicas)
        : modelConditions(backendsOf(object), isUsable);
    const found = conditionsOf(object);
    const of = `${String(kind)} ${metadata.name}`;
    const observed = textAt(status, 'observedGeneration');
    return [
      ...(observed === String(metadata.generation) ? [] : [`${of} has the status of generation ${observed}`]),
      ...Object.entries(wanted).flatMap(([type, text]) =>
        found[type] === text ? [] : [`${of} is ${type} "${found[type]}" in place of "${text}"`],
      ),
    ];
  });
  return [...left, ...statuses];
}

/** Each condition as its status, its reason, and its message where that counts replicas. */
function conditionsOf({ status }: ApiObject): Readonly<Record<string, string>> {
  const conditions: readonly unknown[] =
    isObject(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  return Object.fromEntries(
    conditions.map((each) => {
      const [type, reason] = [textAt(each, 'type'), textAt(each, 'reason')];
      const message = reason === 'Programmed' ? `: ${textAt(each, 'message')}` : '';
      return [type, `${textAt(each, 'status')} ${reason}${message}`];
    }),
  );
}

function backendConditions(
  { isRefused, isChecked, endpoints }: BackendState,
  replicas: number,
): Readonly<Record<string, string>> {
  const everywhere = replicas === 1 ? 'in Envoy' : `in the Envoy of all ${replicas} replicas`;
  return {
    Accepted: 'True Accepted',
    Programmed: isRefused ? 'False EnvoyRefused' : `True Programmed: ${everywhere}`,
    Healthy: isRefused
      ? 'Unknown NotProgrammed'
      : endpoints.length === 0
        ? 'False NoReadyEndpoint'
        : isChecked
          ? 'True HealthCheckPassed'
          : 'True NothingFailed',
  };
}

function modelConditions(
  backends: readonly string[],
  isUsable: (name: string) => boolean,
): Readonly<Record<string, string>> {
  const usable = backends.filter(isUsable).length;
  return {
    Accepted: 'True Accepted',
    Servable:
      usable === 0 ? 'False NoRouteReady' : usable < backends.length ? 'True SomeRoutesReady' : 'True RoutesReady',
  };
}

/** Requests may use what Envoy has, and nothing else. */
export function envoyFaults(
  replica: SimulatedReplica,
  envoy: { readonly has: (cluster: string) => boolean; readonly endpointsOf: (cluster: string) => ReadonlySet<string> },
): readonly string[] {
  return (replica.snapshot()?.clusters ?? []).flatMap((cluster) => {
    const { name } = cluster;
    if (!envoy.has(name)) return isRefused(cluster) ? [] : [`Envoy does not have the cluster ${name}`];
    const known = envoy.endpointsOf(name);
    return replica
      .endpointsOf(name)
      .flatMap((endpoint) => (known.has(endpoint.name) ? [] : [`Envoy does not have ${endpoint.name} of ${name}`]));
  });
}
