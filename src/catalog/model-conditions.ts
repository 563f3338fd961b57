import type { Model, Route } from '../core/catalog.ts';
import { formatUsd } from '../core/money.ts';
import type { ReplicaView } from '../core/replica.ts';
import { hasBackend, unreachableReasons } from './backend-conditions.ts';
import type { ModelConditionType } from './resources/status.ts';
import type { Notice } from './notice.ts';
import { faultsText, instantText, replicaNames, type Statement } from './statement.ts';
import type { JudgedProblem, Verdict } from './verdict.ts';

export interface ModelFacts {
  /** Undefined: it has left the catalog, and nobody judged it any more. */
  readonly verdict: Verdict | undefined;
  /** As the snapshot has it; undefined when it has nothing of it. */
  readonly model: Model | undefined;
  /** Names of the backends of `spec.routes`, in its order. */
  readonly backends: readonly string[];
  readonly notice: Notice | undefined;
  readonly replicas: readonly ReplicaView[];
  readonly now: number;
}

type ModelStatement = Statement<ModelConditionType>;

export interface ModelJudgement {
  readonly statements: readonly ModelStatement[];
  readonly routes: { readonly ready: number; readonly total: number };
}

/** What is true of a Model now. */
export function modelConditions(facts: ModelFacts): ModelJudgement {
  const routes = readyRoutes(facts);
  const servable = servability(facts, routes);
  return {
    statements: [accepted(facts), servable, priced(facts), listed(facts, servable), retiring(facts)],
    routes: { ready: routes.ready.length, total: facts.backends.length },
  };
}

function accepted({ verdict }: ModelFacts): ModelStatement {
  const type = 'Accepted';
  const own = ownProblems(verdict);
  if (own.length === 0) return { type, status: 'True', reason: 'Accepted', message: '' };
  // A bad route costs that route alone.
  if (verdict?.stand === 'taken') {
    return { type, status: 'True', reason: 'SomeRoutesRefused', message: faultsText(own) };
  }
  const reason = own.some(({ cause }) => cause === 'taken') ? 'IdTaken' : 'Invalid';
  return { type, status: 'False', reason, message: faultsText(own) };
}

/** What is wrong with the object itself, and not with what it refers to. */
function ownProblems(verdict: Verdict | undefined): readonly JudgedProblem[] {
  return (verdict?.problems ?? []).filter(({ cause }) => cause !== 'reference');
}

interface ReadyRoutes {
  /** Ready in every replica. */
  readonly ready: readonly Route[];
  /** Why the others are not, by the field that names their backend. */
  readonly others: readonly string[];
  /** Replicas without any. */
  readonly without: readonly ReplicaView[];
}

function readyRoutes({ model, backends, replicas }: ModelFacts): ReadyRoutes {
  const judged = (model?.routes ?? []).map((route) => ({
    route,
    faults: replicas.map((replica) => routeFault(route, replica)),
  }));
  return {
    ready: judged.filter(({ faults }) => faults.every((fault) => fault === undefined)).map(({ route }) => route),
    others: judged.flatMap(({ route, faults }) => {
      const fault = faults.find((found) => found !== undefined);
      const index = backends.indexOf(route.backend.name);
      return fault === undefined ? [] : [`spec.routes[${index}].backend: "${route.backend.name}": ${fault}`];
    }),
    without: replicas.filter((_, replica) => judged.every(({ faults }) => faults[replica] !== undefined)),
  };
}

/** Why a replica would not give a request to this route. */
function routeFault({ id, backend }: Route, replica: ReplicaView): string | undefined {
  if (!hasBackend(replica, backend)) return `not in the Envoy of ${replica.name}`;
  const kind = replica.unreachable.get(backend.name);
  if (kind !== undefined) return unreachableReasons[kind].message.replace(/^[^:]*: /, '');
  return replica.out.has(id) ? 'requests failed lately' : undefined;
}

function servability({ verdict, model, notice, replicas, now }: ModelFacts, routes: ReadyRoutes): ModelStatement {
  const type = 'Servable';
  if (notice !== undefined && notice.leavesAt <= now) {
    return { type, status: 'False', reason: 'Left', message: `left the catalog at ${instantText(notice.leavesAt)}` };
  }
  const references = (verdict?.problems ?? []).filter(({ cause }) => cause === 'reference');
  if (model === undefined) {
    if (references.length === 0) {
      return { type, status: 'False', reason: 'NotAccepted', message: 'nothing of it serves until it is accepted' };
    }
    return { type, status: 'False', reason: 'BackendNotUsable', message: faultsText(references) };
  }
  const reasons = [...references.map((problem) => faultsText([problem])), ...routes.others].join('; ');
  if (routes.without.length > 0) {
    const by = routes.without.length < replicas.length ? ` (in ${replicaNames(routes.without)})` : '';
    return { type, status: 'False', reason: 'NoRouteReady', message: `${reasons}${by}` };
  }
  if (verdict?.stand === 'kept') {
    const message = `the last version that was good serves; ${faultsText(verdict.problems)}`;
    return { type, status: 'True', reason: 'LastGoodServes', message };
  }
  if (reasons !== '') return { type, status: 'True', reason: 'SomeRoutesReady', message: reasons };
  return { type, status: 'True', reason: 'RoutesReady', message: '' };
}

function priced({ verdict, model }: ModelFacts): ModelStatement {
  const type = 'Priced';
  const faults = ownProblems(verdict).filter(({ problem: { field } }) => /^spec\.pricing\b/.test(field));
  const charged = model === undefined ? '' : pricesText(model);
  if (faults.length > 0) {
    const still = model === undefined ? '' : `; charged as before: ${charged}`;
    return { type, status: 'False', reason: 'Invalid', message: faultsText(faults) + still };
  }
  return { type, status: 'True', reason: 'Priced', message: charged };
}

function pricesText({ prices }: Model): string {
  const { prompt, completion, inputCacheRead } = prices;
  return `USD per token: prompt ${formatUsd(prompt)}, completion ${formatUsd(completion)}, cached ${formatUsd(inputCacheRead)}`;
}

function listed({ model, replicas }: ModelFacts, servable: ModelStatement): ModelStatement {
  const type = 'Listed';
  if (model === undefined || servable.reason === 'Left') {
    return { type, status: 'False', reason: 'NotInCatalog', message: servable.message };
  }
  const unlisting = replicas.filter(({ unlisted }) => unlisted.has(model.id));
  if (unlisting.length === 0) return { type, status: 'True', reason: 'Listed', message: '' };
  const by = unlisting.length < replicas.length ? ` (by ${replicaNames(unlisting)})` : '';
  if (servable.status === 'False') {
    return { type, status: 'False', reason: 'NotServable', message: `no route takes requests${by}` };
  }
  const message = `spec.serviceLevel: fewer requests than it asks for were served lately${by}`;
  return { type, status: 'False', reason: 'BelowServiceLevel', message };
}

function retiring({ notice, now }: ModelFacts): ModelStatement {
  const type = 'Retiring';
  if (notice === undefined) return { type, status: 'False', reason: 'Staying', message: '' };
  const { leavesAt, announcedAt, announcedFor, cause, isWaived } = notice;
  if (leavesAt <= now) {
    return { type, status: 'True', reason: 'Left', message: `left the catalog at ${instantText(leavesAt)}` };
  }
  const field = cause === 'deleted' ? 'metadata.deletionTimestamp' : 'spec.retireAt';
  const dates = `leaves the catalog at ${instantText(leavesAt)}, announced at ${instantText(announcedAt)}`;
  if (isWaived) {
    return { type, status: 'True', reason: 'NoticeWaived', message: `${field}: ${dates}, without its notice` };
  }
  const isMoved = cause === 'retireAt' && announcedFor !== undefined && leavesAt > announcedFor;
  const why = isMoved ? '; honoured no earlier than 14 days after it was first seen' : '';
  const reason = cause === 'deleted' ? 'Deleted' : 'RetireAt';
  return { type, status: 'True', reason, message: `${field}: ${dates}${why}` };
}
