import type { Backend, KubeObject, Route, Snapshot } from '../core/catalog.ts';
import { clusterMark, type ReplicaView, type Unreachable } from '../core/replica.ts';
import type { BackendConditionType } from './resources/status.ts';
import { faultsText, replicaNames, type Statement, type StatusFacts, type StatusParts } from './conditions.ts';
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
  const statements = [accepted(facts), programmed(facts), healthy(facts)];
  return { serves: result.state !== 'refused', notice: undefined, statements, fields: {} };
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
  /** The Backend in the snapshot, if the snapshot has something of it. */
  readonly backend: Backend | undefined;
  /** The routes of all models to this Backend. */
  readonly routes: readonly Route[];
  /** Every replica that is alive. */
  readonly replicas: readonly ReplicaView[];
}

type BackendStatement = Statement<BackendConditionType>;

function accepted({ result: { state, problems } }: BackendFacts): BackendStatement {
  const type = 'Accepted';
  if (state === 'accepted') return { type, status: 'True', reason: 'Accepted', message: '' };
  const [first] = problems;
  const reasons = { invalid: 'Invalid', 'name-conflict': 'NameTaken', reference: 'SecretNotUsable' } as const;
  return { type, status: 'False', reason: reasons[first?.cause ?? 'invalid'], message: faultsText(problems) };
}

function programmed({ result, backend, replicas }: BackendFacts): BackendStatement {
  const type = 'Programmed';
  if (backend === undefined) {
    const message = 'Envoy is not told of it until it is accepted';
    return { type, status: 'False', reason: 'NotAccepted', message };
  }
  if (result.state === 'kept') {
    const message = 'Envoy has the last version that was good';
    return { type, status: 'False', reason: 'LastGoodServes', message };
  }
  const refusing = replicas.filter(({ refused }) => refused.has(backend.name));
  const [refusal] = refusing;
  if (refusal !== undefined) {
    const message = `refused by the Envoy of ${replicaNames(refusing)}: ${refusal.refused.get(backend.name) ?? ''}`;
    return { type, status: 'False', reason: 'EnvoyRefused', message };
  }
  const lagging = replicas.filter((replica) => !hasBackend(replica, backend));
  if (lagging.length > 0) {
    const message = `not in the Envoy of ${replicaNames(lagging)} yet (${lagging.length} of ${replicas.length})`;
    return { type, status: 'False', reason: 'Lagging', message };
  }
  const everywhere = replicas.length === 1 ? 'in Envoy' : `in the Envoy of all ${replicas.length} replicas`;
  return { type, status: 'True', reason: 'Programmed', message: everywhere };
}

/** Whether a replica's Envoy has exactly this version of a backend. */
export function hasBackend({ hasEnvoy, clusters }: ReplicaView, { cluster }: Backend): boolean {
  return hasEnvoy && clusters.has(clusterMark(cluster.name));
}

export const unreachableReasons: Readonly<Record<Unreachable, { readonly reason: string; readonly message: string }>> =
  {
    'no-address': { reason: 'NoAddress', message: 'spec.endpoint.host: the name has no address' },
    unhealthy: { reason: 'HealthCheckFailed', message: 'spec.healthCheck: no endpoint passes the health check' },
  };

function healthy({ backend, routes, replicas }: BackendFacts): BackendStatement {
  const type = 'Healthy';
  const knowing = backend === undefined ? [] : replicas.filter((replica) => hasBackend(replica, backend));
  if (backend === undefined || knowing.length === 0) {
    return { type, status: 'Unknown', reason: 'NotProgrammed', message: 'no Envoy has it yet' };
  }
  const troubles = knowing.flatMap((replica) => {
    const trouble = troubleAt(replica, backend, routes);
    return trouble === undefined ? [] : [{ ...trouble, name: replica.name }];
  });
  const [first] = troubles;
  if (first !== undefined) {
    const from = troubles.length < knowing.length ? ` (seen by ${replicaNames(troubles)})` : '';
    return { type, status: 'False', reason: first.reason, message: first.message + from };
  }
  // Without a health check all that is known is that no request failed.
  if (backend.cluster.healthCheck === undefined) {
    return { type, status: 'True', reason: 'NothingFailed', message: 'no health check is declared' };
  }
  return { type, status: 'True', reason: 'HealthCheckPassed', message: '' };
}

function troubleAt(
  { unreachable, out }: ReplicaView,
  { name }: Backend,
  routes: readonly Route[],
): { readonly reason: string; readonly message: string } | undefined {
  const kind = unreachable.get(name);
  if (kind !== undefined) return unreachableReasons[kind];
  if (routes.length === 0 || !routes.every(({ id }) => out.has(id))) return undefined;
  return { reason: 'RequestsFail', message: 'the requests on all of its routes failed lately' };
}
