import { isProvider, type Model, modelNamed, type Snapshot } from '../../core/catalog.ts';
import { asFailure, Failure } from '../../core/failure.ts';
import type { Health } from '../core/health.ts';
import { type Plan, type PlannedRoute, withFirst, withRoutes } from '../core/plan.ts';
import { type PreparedRequest, type PromptCounting, promptCounting, type Tokenizers } from '../../core/prompt.ts';
import { capabilitiesOf, engines, templateArguments } from '../engines/engines.ts';
import { checkFirstToken } from '../admission/overload.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import type { TokenCounters } from '../metering/meter.ts';
import type { AffinityOf } from '../routing/affinity.ts';
import { keyedDigest } from '../routing/keyed-digest.ts';
import type { RoutingView } from '../routing/health/route-status.ts';
import { type ContextOptions, makePlan } from '../routing/plan.ts';
import { poolPromptOf } from '../routing/pool/prompt-blocks.ts';
import type { SystemPlacement } from '../routing/system-placement.ts';
import type { AdmittedRequest } from './accept-request.ts';
import { checkSearch, type WebSearch } from './search-loop.ts';

export interface PlanServices {
  /** Whether `GET /v1/models` lists a model. Absent: it lists all. */
  readonly isListed?: (model: Model) => boolean;
  readonly tokenizers: Tokenizers;
  readonly health: RoutingView;
  readonly affinityOf: AffinityOf;
  readonly placement: SystemPlacement;
  /** Absent: the web is not searched, and earlier results cannot be sent back. */
  readonly search?: WebSearch | undefined;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** A request whose body has been read, and the catalog that it is planned with. */
interface RequestToPlan {
  readonly request: Pick<AdmittedRequest, 'credential' | 'watch'>;
  readonly prepared: PreparedRequest;
  readonly snapshot: Snapshot;
}

/** A name that may be a model's, and holds no text of people. It is kept for operators alone. */
const plainName = (name: string): string | undefined => (/^[\w][\w./:@-]{0,127}$/.test(name) ? name : undefined);

/** Plans a request. Throws the refusals of its fields, of its model, and of routes without room. */
export function planRequest({ request, prepared, snapshot }: RequestToPlan, services: PlanServices): Plan {
  const { credential, watch } = request;
  const { modelName, stream } = prepared.request;
  const modelId = modelNamed(snapshot, modelName)?.id;
  watch.progress({ kind: 'read', modelId, asked: modelId === undefined ? plainName(modelName) : undefined, stream });
  checkSearch(prepared.request, services.search);
  const { isListed, tokenizers, health, affinityOf, placement, random } = services;
  try {
    return makePlan(prepared, {
      ...{ snapshot, allowedModels: credential.key.models, isListed, capabilitiesOf, turn: random() },
      ...{ health, affinityOf, boundsOf: tokenizers.boundsOf, placement },
      ranked: (ranking) => watch.progress({ kind: 'ranked', ranking }),
    });
  } catch (error) {
    if (asFailure(error).code === 'no_capacity') watch.progress({ kind: 'unavailable' });
    throw error;
  }
}

/**
 * Has the documents of a request cut to `max_tokens_per_doc`: by the model's tokenizer, else by the engines that can. `lengths`: what
 * the tokenizer has found. Throws `param_not_supported` if nothing cuts them.
 */
export function planDocuments(
  plan: Plan,
  { task }: Pick<PreparedRequest['request'], 'task'>,
  lengths: readonly number[] | undefined,
): Plan {
  if (task?.kind !== 'rerank' || task.maxTokensPerDocument === undefined) return plan;
  if (lengths !== undefined)
    return withRoutes(plan, (planned) => ({ ...planned, target: { ...planned.target, documentLengths: lengths } }));
  const cuts = ({ route }: PlannedRoute): boolean => engines[route.backend.engine].rerank?.documentLimit !== undefined;
  const { routes, leftOut = [], equals = [], model } = plan;
  const [first, ...others] = routes.filter(cuts);
  if (first !== undefined)
    return { ...plan, routes: [first, ...others], leftOut: leftOut.filter(cuts), equals: equals.filter(cuts) };
  const message = `max_tokens_per_doc: ${model.id} has no tokenizer that cuts documents, and no engine that does`;
  throw new Failure('param_not_supported', message);
}

/** What engines' caches are divided and picked by. */
export interface CacheServices {
  /** Common to all replicas, and known to nothing else. */
  readonly sharedSecret: () => string;
  readonly health: Pick<Health, 'endpointsLeft' | 'soonest'>;
}

/**
 * Adds to a plan what concerns the prefix caches of engines: the salt that keeps workspaces apart, and the prompt's blocks, by which an
 * endpoint is picked, also among the endpoints of equal routes. One endpoint needs no pick, but what it holds and how fast it is must be
 * known when a second one joins it.
 */
export function planForCaches(
  plan: Plan,
  { request, prepared }: Pick<RequestToPlan, 'request' | 'prepared'>,
  { sharedSecret, health }: CacheServices,
): Plan {
  const { model } = plan;
  const secret = sharedSecret();
  const sharer = sharerOf(model, request);
  const salted = sharer === undefined ? plan : saltedPlan(plan, keyedDigest(secret, `cache of ${sharer}`));
  const counts = plan.routes.map(({ route }) => (isProvider(route.backend) ? 0 : health.endpointsLeft({ route })));
  if (counts.every((endpoints) => endpoints === 0)) return salted;
  const blocks = prepared.blocksFor({ secret, scope: `${sharer ?? ''} ${model.id}` });
  const poolPrompt = poolPromptOf(blocks, Math.max(1, estimatePrompt(prepared.shape, model)));
  const { stream } = prepared.request;
  const { affinity } = plan;
  const least = model.serviceLevel?.firstTokenMs === undefined ? 2 : 1;
  const equals = counts.some((endpoints) => endpoints >= least) ? (plan.equals ?? []) : [];
  const equalRoutes = equals.map(({ route }) => route);
  const soonest = equals.length > 0 ? health.soonest(equalRoutes, { stream, poolPrompt, affinity }) : undefined;
  if (soonest === undefined) return { ...salted, poolPrompt };
  request.watch.progress({ kind: 'route-picked', routeId: soonest.id });
  return { ...withFirst(salted, soonest), poolPrompt };
}

/** Refuses a request that would wait too long for its first token, by the `serviceLevel` of its model. */
export function checkWait(
  { model, routes, poolPrompt }: Plan,
  { request, prepared }: Pick<RequestToPlan, 'request' | 'prepared'>,
  { health, random }: { readonly health: Pick<Health, 'firstTokenWait'>; readonly random: () => number },
): void {
  if (poolPrompt === undefined) return;
  const { stream } = prepared.request;
  const waits = routes.map(({ route }) => health.firstTokenWait(route, { stream, poolPrompt }));
  try {
    checkFirstToken(model, waits, random);
  } catch (error) {
    request.watch.progress({ kind: 'unavailable' });
    throw error;
  }
}

function saltedPlan(plan: Plan, cacheSalt: string): Plan {
  const salt = (planned: PlannedRoute): PlannedRoute =>
    engines[planned.route.backend.engine].cacheSalt === true
      ? { ...planned, target: { ...planned.target, cacheSalt } }
      : planned;
  return withRoutes(plan, salt);
}

/** The workspace that shares what is remembered of its prompts with no other one. Undefined: all workspaces share it. */
const sharerOf = ({ cacheSharing }: Model, { credential }: Pick<AdmittedRequest, 'credential'>): string | undefined =>
  cacheSharing === 'All' ? undefined : credential.workspace.id;

/** How a prompt is counted on the route that is tried first. Undefined: the model has no tokenizer. */
export function countingOf(
  { model, routes: [{ target }] }: Plan,
  request: Pick<AdmittedRequest, 'credential'>,
): PromptCounting | undefined {
  const scope = sharerOf(model, request) ?? '';
  return promptCounting(model, { templateArguments: templateArguments(target), form: target.form, scope });
}

/** Counts of a request by the model's tokenizer, for numbers that no engine reports. Undefined: the model has no tokenizer. */
export function countersFor(
  prepared: PreparedRequest,
  { model, tokenizers, counting }: ContextOptions,
): TokenCounters | undefined {
  if (counting === undefined) return undefined;
  return {
    countPrompt: async () => {
      const { task } = prepared.request;
      if (task?.kind === 'embedding' && task.tokenIds !== undefined) return prepared.shape.textTokens;
      const count = await prepared.countPrompt({ ...counting, want: 'count', limit: model.contextLength });
      return count.kind === 'counted' ? count.tokens : undefined;
    },
    countText: (text) => tokenizers.countText(counting.tokenizerPath, text),
    bounds: () => tokenizers.boundsOf(counting.tokenizerPath),
  };
}
