import { causeReason, causeText, saidText } from '../../core/cause.ts';
import type { Backend, KubeObject, Route, Snapshot } from '../../core/catalog.ts';
import {
  clusterMark,
  type EndpointFault,
  type EndpointCounts,
  type FailingBackend,
  type FailingEndpoint,
  type HealthCheckAnswer,
  type ObservedCatalog,
  type ObservedEndpoints,
  failuresInARow,
} from '../../core/observed-catalog.ts';
import type { BackendConditionType } from './resources/status.ts';
import {
  faultsText,
  replicaNames,
  type Statement,
  statementsOf,
  type StatusFacts,
  type StatusParts,
} from './conditions.ts';
import { createRemembered } from './remember.ts';
import type { ObjectResult } from './compile.ts';

/** The status of a Backend; undefined when its newest version has not been compiled yet. */
export function backendStatus(object: KubeObject, { compilation, replicas }: StatusFacts): StatusParts | undefined {
  const result = compilation.results.get(object.declared);
  if (result === undefined) return undefined;
  const facts: BackendFacts = {
    result,
    backend: compilation.backends.get(object.name),
    routes: routesByBackend(compilation.snapshot).get(object.name) ?? [],
    replicas,
  };
  const counts = mergedCounts(facts);
  const statements = [accepted(facts), programmed(facts), healthy(facts, counts)];
  const fields = {
    endpoints: counts === undefined ? null : { ...counts, summary: `${counts.healthy} of ${counts.total}` },
  };
  return { serves: result.state !== 'refused', notice: undefined, statements, fields };
}

const routesOnce = createRemembered<Snapshot, ReadonlyMap<string, readonly Route[]>>();

/** The routes of all models, by the name of their backend. */
function routesByBackend(snapshot: Snapshot): ReadonlyMap<string, readonly Route[]> {
  return routesOnce(snapshot, [], () => {
    const all = [...snapshot.models.values()].flatMap(({ routes }) => routes);
    return Map.groupBy(all, ({ backend }) => backend.name);
  });
}

interface BackendFacts {
  readonly result: ObjectResult;
  /** The Backend in the snapshot; undefined if the snapshot has no version of it. */
  readonly backend: Backend | undefined;
  /** The routes of all models to this Backend. */
  readonly routes: readonly Route[];
  /** Every replica that is alive. */
  readonly replicas: readonly ObservedCatalog[];
}

type BackendStatement = Statement<BackendConditionType>;

function accepted({ result: { state, problems } }: BackendFacts): BackendStatement {
  const { isTrue, isFalse } = statementsOf('Accepted');
  if (state === 'accepted') return isTrue('Accepted');
  const [first] = problems;
  const reasons = { invalid: 'Invalid', 'name-conflict': 'NameTaken', reference: 'SecretNotUsable' } as const;
  return isFalse(reasons[first?.cause ?? 'invalid'], faultsText(problems));
}

function programmed({ result, backend, replicas }: BackendFacts): BackendStatement {
  const { isTrue, isFalse } = statementsOf('Programmed');
  if (backend === undefined) return isFalse('NotAccepted', 'Envoy gets it once it is accepted');
  if (result.state === 'kept') return isFalse('LastGoodServes', 'Envoy has the last version that was good');
  const refusalAt = ({ backends }: ObservedCatalog): string | undefined => backends.get(backend.name)?.refused;
  const refusing = replicas.filter((replica) => refusalAt(replica) !== undefined);
  const [refusal] = refusing;
  if (refusal !== undefined) {
    return isFalse('EnvoyRefused', `refused by the Envoy of ${replicaNames(refusing)}: ${refusalAt(refusal) ?? ''}`);
  }
  const lagging = replicas.filter((replica) => !hasBackend(replica, backend));
  if (lagging.length > 0) {
    return isFalse(
      'Lagging',
      `not in the Envoy of ${replicaNames(lagging)} yet (${lagging.length} of ${replicas.length})`,
    );
  }
  const [fault] = replicas.flatMap((replica) => sourceFault(backend, endpointsAt(replica, backend)) ?? []);
  if (fault !== undefined) return isFalse(fault.reason, fault.message);
  const everywhere = replicas.length === 1 ? 'in Envoy' : `in the Envoy of all ${replicas.length} replicas`;
  return isTrue('Programmed', everywhere);
}

/**
 * The fault of a Service or an InferencePool that cannot have an endpoint: it does not exist, or it has no such port. Envoy then
 * has a cluster to which no pod can ever belong. A Service or a pool without a ready pod is not such a fault.
 */
function sourceFault({ cluster }: Backend, endpoints: ObservedEndpoints | undefined): Trouble | undefined {
  const message = endpoints?.trouble;
  if (message === undefined) return undefined;
  switch (cluster.endpoints.kind) {
    case 'hosts':
      return undefined;
    case 'service':
      return /^spec\.service\.(name|port):/.test(message) ? { reason: 'ServiceNotUsable', message } : undefined;
    case 'inference-pool':
      return message.startsWith('spec.inferencePool.name:') ? { reason: 'InferencePoolNotUsable', message } : undefined;
  }
}

/** Whether a replica's Envoy has exactly this version of a backend. */
export function hasBackend({ hasEnvoy, clusters }: ObservedCatalog, { cluster }: Backend): boolean {
  return hasEnvoy && clusters.has(clusterMark(cluster.name));
}

/** The endpoints of a Backend, as a replica observes them. */
function endpointsAt({ backends }: ObservedCatalog, { name }: Backend): ObservedEndpoints | undefined {
  return backends.get(name)?.endpoints;
}

/** The replicas that know this version of a Backend. */
function knowing({ backend, replicas }: BackendFacts): readonly ObservedCatalog[] {
  return backend === undefined ? [] : replicas.filter((replica) => hasBackend(replica, backend));
}

/** `healthy`: the endpoints that get requests from every replica. */
type MergedCounts = Pick<EndpointCounts, 'total' | 'healthy'>;

/** Merges what all replicas observe; undefined where no Envoy has the Backend. */
function mergedCounts(facts: BackendFacts): MergedCounts | undefined {
  const { backend } = facts;
  const observed =
    backend === undefined ? [] : knowing(facts).flatMap((replica) => endpointsAt(replica, backend) ?? []);
  if (observed.length === 0) return undefined;
  const total = Math.max(...observed.map((one) => one.total));
  const failing = new Set(observed.flatMap((one) => one.failing.map(({ endpoint }) => endpoint)));
  return { total, healthy: Math.max(0, Math.min(total - failing.size, ...observed.map((one) => one.healthy))) };
}

interface Trouble {
  readonly reason: string;
  readonly message: string;
}

function healthy(facts: BackendFacts, counts: MergedCounts | undefined): BackendStatement {
  const { isTrue, isFalse, isUnknown } = statementsOf('Healthy');
  const { backend, routes } = facts;
  const replicas = knowing(facts);
  if (backend === undefined || replicas.length === 0) return isUnknown('NotProgrammed', 'no Envoy has it yet');
  const seenBy = (some: readonly ObservedCatalog[]): string =>
    some.length < replicas.length ? ` (seen by ${replicaNames(some)})` : '';
  const troubles = replicas.flatMap((replica) => {
    const trouble = troubleAt(replica, backend, routes);
    return trouble === undefined ? [] : [{ ...trouble, replica }];
  });
  const [first] = troubles;
  if (first !== undefined) {
    const message = first.message + seenBy(troubles.map(({ replica }) => replica));
    return isFalse(first.reason, message);
  }
  if (counts !== undefined && counts.healthy < counts.total) {
    const seeing = replicas.filter((replica) => isIncomplete(endpointsAt(replica, backend)));
    const failing = seeing.flatMap((replica) => endpointsAt(replica, backend)?.failing ?? []);
    return isTrue(
      'SomeEndpointsFail',
      `${counts.healthy} of ${counts.total} endpoints${namesOf(failing, counts)}${seenBy(seeing)}`,
    );
  }
  const differs = replicas
    .map(({ backends }) => backends.get(backend.name)?.differs)
    .find((text) => text !== undefined);
  if (differs !== undefined) return isTrue('DiffersFromManifest', differs);
  // Without a health check, the only evidence is that something was answered.
  if (backend.cluster.healthCheck === undefined) {
    if (replicas.every(({ backends }) => backends.get(backend.name)?.isUntried === true)) {
      return isUnknown('NotTried', 'no request or probe has been answered yet');
    }
    return isTrue('NothingFailed', 'no health check is declared');
  }
  return isTrue('HealthCheckPassed');
}

function isIncomplete(endpoints: ObservedEndpoints | undefined): boolean {
  return endpoints !== undefined && endpoints.healthy < endpoints.total;
}

const faultTexts: Readonly<Record<EndpointFault, string>> = {
  'health-check': 'fails the health check',
  requests: 'failed recent attempts',
  slow: 'is slow: other endpoints answered first',
};

/** `fails the health check (HTTP 401; …)` */
function faultText({ why, answer }: FailingEndpoint): string {
  return answer === undefined ? faultTexts[why] : `${faultTexts[why]} (${answerText(answer)})`;
}

function answerText(answer: HealthCheckAnswer): string {
  if ('problem' in answer) return answer.problem;
  const { status } = answer;
  const isRefused = status === 401 || status === 403;
  return `HTTP ${status}${isRefused ? '; health checks carry no credentials, so spec.healthCheck.path must work without them' : ''}`;
}

const maxNames = 3;

/** Names up to three endpoints with their faults, and counts the rest. */
function namesOf(failing: readonly FailingEndpoint[], { total, healthy: well }: MergedCounts): string {
  const each = [...new Map(failing.map((one) => [one.endpoint, one])).values()].slice(0, maxNames);
  const more = total - well - each.length;
  const named = each.map((one) => `; ${one.endpoint} ${faultText(one)}`).join('');
  return named + (each.length > 0 && more > 0 ? `; ${more} more` : '');
}

/** Up to three endpoints with their answers to the health check, where these are known. */
function answersOf(failing: readonly FailingEndpoint[]): string {
  return failing
    .flatMap(({ endpoint, answer }) => (answer === undefined ? [] : [`; ${endpoint}: ${answerText(answer)}`]))
    .slice(0, maxNames)
    .join('');
}

/** Why Envoy can send no request to a Backend; undefined if it can. */
function unreachableAt({ backends }: ObservedCatalog, { name, cluster }: Backend): Trouble | undefined {
  const observed = backends.get(name);
  switch (observed?.unreachable) {
    case undefined:
      return undefined;
    case 'no-address':
      return noEndpoint(cluster, observed?.endpoints);
    case 'unhealthy':
      return {
        reason: 'HealthCheckFailed',
        message: `spec.healthCheck: no endpoint passes the health check${answersOf(observed?.endpoints?.failing ?? [])}`,
      };
  }
}

function troubleAt(replica: ObservedCatalog, backend: Backend, routes: readonly Route[]): Trouble | undefined {
  const unreachable = unreachableAt(replica, backend);
  if (unreachable !== undefined) return unreachable;
  const { endpoints, failing, differs } = replica.backends.get(backend.name) ?? {};
  // Vectors of a model are no fault of the Backend.
  const ofRequests = routes.filter(({ id }) => replica.vectors.get(id)?.isWhole !== true);
  const isOut = ofRequests.length > 0 && ofRequests.every(({ id }) => replica.out.has(id));
  const requestsFail = (what: string): Trouble =>
    requestTrouble(failing, differs === undefined ? what : `${what}; ${differs}`);
  if (failing?.evidence === 'probe') return requestsFail('no request has been answered since');
  if (isOut) return requestsFail('requests on all of its routes fail');
  if (endpoints?.healthy === 0 && endpoints.total > 0) return requestsFail('requests to every endpoint fail');
  if (failing?.evidence !== 'many-requests') return undefined;
  const { cause, status, said } = failing;
  const why = cause === undefined ? '' : `: it ${causeText(cause, status)}${saidText(said)}`;
  return { reason: 'LastRequestsFailed', message: `at least the last ${failuresInARow} requests failed${why}` };
}

/** The trouble of a Backend whose requests fail: its cause, and what that does to requests. */
function requestTrouble(failing: FailingBackend | undefined, what: string): Trouble {
  if (failing?.cause === undefined) return { reason: 'RequestsFail', message: what };
  const { cause, status, said } = failing;
  return { reason: causeReason(cause), message: `it ${causeText(cause, status)}: ${what}${saidText(said)}` };
}

/** The trouble of a Backend without an endpoint. The follower of its endpoints gives the reason. */
function noEndpoint({ endpoints: source }: Backend['cluster'], endpoints: ObservedEndpoints | undefined): Trouble {
  const message = endpoints?.trouble;
  switch (source.kind) {
    case 'hosts':
      return { reason: 'NoAddress', message: message ?? 'spec.endpoint: no host has an address' };
    case 'service':
      return { reason: 'NoReadyEndpoint', message: message ?? 'spec.service: no pod of the Service is ready' };
    case 'inference-pool':
      return { reason: 'NoReadyEndpoint', message: message ?? 'spec.inferencePool: no pod of the pool is ready' };
  }
}

/** Why a replica can send no request to a Backend, without the field at fault; undefined: it can. */
export function unreachableText(replica: ObservedCatalog, backend: Backend): string | undefined {
  return unreachableAt(replica, backend)?.message.replace(/^spec[^:]*: /, '');
}
