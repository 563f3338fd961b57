import { causeText } from '../../core/cause.ts';
import { isProvider, isStandby, kindOfModel, type KubeObject, type Model, type Route } from '../../core/catalog.ts';
import { engines } from '../../gateway/engines/engines.ts';
import { formatUsd } from '../../core/money.ts';
import { type ObservedCatalog, type VectorsFault, vectorsFaults } from '../../core/observed-catalog.ts';
import { hasBackend, unreachableText } from './backend-status.ts';
import type { ObjectProblem, ObjectResult } from './compile.ts';
import {
  faultsText,
  instantText,
  replicaNames,
  type Statement,
  statementsOf,
  type StatusFacts,
  type StatusParts,
} from './conditions.ts';
import { type Notice, noticeFor, waiverAnnotation } from './notice.ts';
import { backendsOf, modelIdOf } from '../core/raw-object.ts';
import type { ModelConditionType } from './resources/status.ts';

/**
 * The status of a Model; undefined when its newest version has not been compiled yet. A Model that has left the catalog is
 * not compiled any more and still has a status.
 */
export function modelStatus(object: KubeObject, { compilation, replicas, now }: StatusFacts): StatusParts | undefined {
  const result = compilation.results.get(object.declared);
  const notice = noticeFor(object, now);
  const hasLeft = notice !== undefined && notice.leavesAt <= now;
  if (result === undefined && !hasLeft) return undefined;
  const id = modelIdOf(object.declared);
  const backends = backendsOf(object.declared);
  const serves = result !== undefined && result.state !== 'refused';
  const model = serves && id !== undefined ? compilation.snapshot.models.get(id) : undefined;
  const facts: ModelFacts = { id, result, model, backends, notice, replicas, now };
  const routes = readyRoutes(facts);
  const servable = servability(facts, routes);
  const [ready, total] = [routes.ready.length, backends.length];
  return {
    serves,
    notice,
    statements: [
      accepted(facts),
      servable,
      ...sameVectors(facts),
      priced(facts),
      listed(facts, servable),
      retiring(facts),
    ],
    fields: {
      routes: { ready, total, summary: `${ready}/${total}` },
      retireAt: notice === undefined ? null : instantText(notice.leavesAt),
      announcedAt: notice === undefined ? null : instantText(notice.announcedAt),
      announcedFor: notice?.announcedFor === undefined ? null : instantText(notice.announcedFor),
    },
  };
}

interface ModelFacts {
  /** `spec.id`, where it is a text. */
  readonly id: string | undefined;
  /** Undefined: the Model has left the catalog and is not compiled any more. */
  readonly result: ObjectResult | undefined;
  /** The Model in the snapshot; undefined if the snapshot has no version of it. */
  readonly model: Model | undefined;
  /** Names of the backends of `spec.routes`, in its order. */
  readonly backends: readonly (string | undefined)[];
  readonly notice: Notice | undefined;
  readonly replicas: readonly ObservedCatalog[];
  readonly now: number;
}

type ModelStatement = Statement<ModelConditionType>;

function accepted({ result, model, backends }: ModelFacts): ModelStatement {
  const { isTrue, isFalse } = statementsOf('Accepted');
  const own = ownProblems(result);
  if (own.length === 0) {
    const message = model === undefined ? '' : undividedText(model, backends);
    return isTrue(message === '' ? 'Accepted' : 'CacheNotDivided', message);
  }
  // Bad routes and taken aliases are left out. The Model is still accepted.
  if (result?.state === 'accepted') {
    const isAlias = own.every(({ problem: { field } }) => field.startsWith('spec.aliases'));
    return isTrue(isAlias ? 'SomeAliasesRefused' : 'SomeRoutesRefused', faultsText(own));
  }
  const isTaken = own.some(({ cause }) => cause === 'name-conflict');
  return isFalse(isTaken ? 'IdTaken' : 'Invalid', faultsText(own));
}

/** Names the routes whose engines share their prefix cache among all workspaces, although the model forbids it. Empty: none. */
function undividedText(model: Model, backends: ModelFacts['backends']): string {
  const { cacheSharing, routes } = model;
  // Encoders have no prefix cache.
  if (cacheSharing === 'All' || kindOfModel(model) !== 'chat') return '';
  const undivided = routes.filter(({ backend }) => engines[backend.engine].cacheSalt !== true && !isProvider(backend));
  if (undivided.length === 0) return '';
  const names = undivided.map(
    ({ backend: { name, engine } }) => `spec.routes[${backends.indexOf(name)}].backend: "${name}" (${engine})`,
  );
  return `${names.join(', ')}: the engine cannot divide its prefix cache among workspaces; spec.cacheSharing: All accepts that`;
}

/** The problems of the object itself, without the problems of its references. */
function ownProblems(result: ObjectResult | undefined): readonly ObjectProblem[] {
  return (result?.problems ?? []).filter(({ cause }) => cause !== 'reference');
}

type ReadyRoutes = ReturnType<typeof readyRoutes>;

function readyRoutes({ model, backends, replicas }: ModelFacts) {
  const checked = (model?.routes ?? []).map((route) => ({
    route,
    faults: replicas.map((replica) => routeFault(route, replica)),
  }));
  const without = replicas.filter((_, replica) => checked.every(({ faults }) => faults[replica] !== undefined));
  const onTrial = without.filter((replica) => {
    const isListed = model !== undefined && !replica.unlisted.has(model.id);
    return isListed && checked.some(({ faults }) => faults[replicas.indexOf(replica)]?.isOut);
  });
  return {
    /** Ready in every replica. */
    ready: checked.filter(({ faults }) => faults.every((fault) => fault === undefined)).map(({ route }) => route),
    /** Why each other route is not ready, with the field that names its backend. */
    others: checked.flatMap(({ route, faults }) => {
      const fault = faults.find((found) => found !== undefined);
      const index = backends.indexOf(route.backend.name);
      return fault === undefined ? [] : [`spec.routes[${index}].backend: "${route.backend.name}": ${fault.text}`];
    }),
    /** Replicas without a ready route, except those in `onTrial`. */
    without: without.filter((replica) => !onTrial.includes(replica)),
    /**
     * Replicas that list the model again after requests have failed on every route: only a request can show whether a
     * route works.
     */
    onTrial,
  };
}

interface RouteFault {
  readonly text: string;
  /** Whether the route is ejected. Requests could reach it. */
  readonly isOut: boolean;
}

/** Why a replica would not give a request to this route. */
function routeFault({ id, backend }: Route, replica: ObservedCatalog): RouteFault | undefined {
  if (!hasBackend(replica, backend)) return { text: `not in the Envoy of ${replica.name}`, isOut: false };
  const unreachable = unreachableText(replica, backend);
  if (unreachable !== undefined) return { text: unreachable, isOut: false };
  if (!replica.out.has(id)) return undefined;
  const vectors = replica.vectors.get(id);
  if (vectors?.isWhole === true) return { text: vectors.text, isOut: false };
  const { cause, status } = replica.backends.get(backend.name)?.failing ?? {};
  return { text: cause === undefined ? 'requests fail' : `it ${causeText(cause, status)}`, isOut: true };
}

function servability({ result, model, notice, replicas, now }: ModelFacts, routes: ReadyRoutes): ModelStatement {
  const { isTrue, isFalse } = statementsOf('Servable');
  if (notice !== undefined && notice.leavesAt <= now) {
    return isFalse('Left', `left the catalog at ${instantText(notice.leavesAt)}`);
  }
  const references = (result?.problems ?? []).filter(({ cause }) => cause === 'reference');
  if (model === undefined) {
    if (references.length === 0) return isFalse('NotAccepted', 'it serves no requests until it is accepted');
    return isFalse('BackendNotUsable', faultsText(references));
  }
  const reasons = [...references.map((problem) => faultsText([problem])), ...routes.others].join('; ');
  if (routes.without.length > 0) {
    const by = routes.without.length < replicas.length ? ` (in ${replicaNames(routes.without)})` : '';
    return isFalse('NoRouteReady', `${reasons}${by}`);
  }
  if (result?.state === 'kept') {
    return isTrue('LastGoodServes', `the last version that was good serves; ${faultsText(result.problems)}`);
  }
  if (routes.onTrial.length > 0) {
    const by = routes.onTrial.length < replicas.length ? ` (in ${replicaNames(routes.onTrial)})` : '';
    return isTrue('OnTrial', `${reasons}; no request came in the last minute, and the next one finds out${by}`);
  }
  if (reasons !== '' && routes.ready.length > 0 && routes.ready.every(isStandby)) {
    return isTrue('StandbyReady', `only routes of weight 0 are ready; ${reasons}`);
  }
  if (reasons !== '') return isTrue('SomeRoutesReady', reasons);
  return isTrue('RoutesReady');
}

/** Whether all routes of an embedding model make the same vectors. Other models have no such condition. */
function sameVectors({ id, model, backends, replicas }: ModelFacts): readonly ModelStatement[] {
  if (model?.embedding === undefined) return [];
  const { isTrue, isFalse, isUnknown } = statementsOf('SameVectors');
  const faults = model.routes.flatMap(({ id: route, backend: { name } }) => {
    const found = replicas.flatMap(({ vectors }) => vectors.get(route) ?? []);
    const worst = found.toSorted((a, b) => vectorsFaults.indexOf(b.kind) - vectorsFaults.indexOf(a.kind))[0];
    if (worst === undefined) return [];
    return [{ kind: worst.kind, text: `spec.routes[${backends.indexOf(name)}].backend: "${name}": ${worst.text}` }];
  });
  const textOf = (...kinds: readonly VectorsFault['kind'][]): string =>
    faults.flatMap(({ kind, text }) => (kinds.includes(kind) ? [text] : [])).join('; ');
  if (textOf('changed') !== '') {
    const advice = `\`weir model accept-vectors ${id}\` takes them as the reference, for search indexes that you rebuild`;
    return [isFalse('VectorsChanged', `${textOf('changed', 'differs')}; ${advice}`)];
  }
  if (textOf('differs') !== '') return [isFalse('OtherVectors', textOf('differs'))];
  if (textOf('unprobed') !== '') return [isUnknown('NotProbed', textOf('unprobed'))];
  return [isTrue('SameVectors')];
}

function priced({ result, model }: ModelFacts): ModelStatement {
  const { isTrue, isFalse } = statementsOf('Priced');
  const faults = ownProblems(result).filter(({ problem: { field } }) => /^spec\.pricing\b/.test(field));
  const charged = model === undefined ? '' : pricesText(model);
  if (faults.length > 0) {
    const still = model === undefined ? '' : `; charged as before: ${charged}`;
    return isFalse('Invalid', faultsText(faults) + still);
  }
  return isTrue('Priced', charged);
}

function pricesText({ prices }: Model): string {
  const { prompt, completion, inputCacheRead } = prices;
  return `USD per token: prompt ${formatUsd(prompt)}, completion ${formatUsd(completion)}, cached ${formatUsd(inputCacheRead)}`;
}

function listed({ model, replicas }: ModelFacts, servable: ModelStatement): ModelStatement {
  const { isTrue, isFalse } = statementsOf('Listed');
  if (model === undefined || servable.reason === 'Left') return isFalse('NotInCatalog', servable.message);
  // Callers get no list from a replica whose Envoy does not answer.
  const unlisting = replicas.filter(({ hasEnvoy, unlisted }) => !hasEnvoy || unlisted.has(model.id));
  if (unlisting.length === 0) return isTrue('Listed');
  const by = unlisting.length < replicas.length ? ` (by ${replicaNames(unlisting)})` : '';
  if (servable.status === 'False') return isFalse('NotServable', `no route takes requests${by}`);
  return isFalse(
    'BelowServiceLevel',
    `spec.serviceLevel: fewer recent requests than it requires were within the objective${by}`,
  );
}

function retiring({ id, notice, now }: ModelFacts): ModelStatement {
  const { isTrue, isFalse } = statementsOf('Retiring');
  if (notice === undefined) return isFalse('Staying');
  const { leavesAt, announcedAt, announcedFor, cause, isWaived } = notice;
  if (leavesAt <= now) return isTrue('Left', `left the catalog at ${instantText(leavesAt)}`);
  const field = cause === 'deleted' ? 'metadata.deletionTimestamp' : 'spec.retireAt';
  const dates = `leaves the catalog at ${instantText(leavesAt)}, announced at ${instantText(announcedAt)}`;
  if (isWaived) return isTrue('NoticeWaived', `${field}: ${dates}, without its notice`);
  if (cause === 'deleted') return isTrue('Deleted', `${field}: ${dates}. ${deletionAdvice(id)}`);
  const isMoved = cause === 'retireAt' && announcedFor !== undefined && leavesAt > announcedFor;
  const why = isMoved ? '; honoured no earlier than 14 days after it was first seen' : '';
  return isTrue('RetireAt', `${field}: ${dates}${why}`);
}

/** Advice about a deletion, which Kubernetes cannot revoke. The operator reads it in the event while `kubectl delete` waits. */
function deletionAdvice(id: string | undefined): string {
  return [
    '`kubectl delete` waits for that; it need not: `--wait=false`.',
    `To keep the model, create a second Model with the id ${JSON.stringify(id)}: it takes over when this one leaves.`,
    `To let it leave now, set the annotation ${waiverAnnotation}=true.`,
  ].join(' ');
}
