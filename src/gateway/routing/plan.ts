import type { Capabilities, SystemMessages } from '../../core/capability.ts';
import { type Model, modelNamed, type Route, type Snapshot } from '../../core/catalog.ts';
import { Failure } from '../../core/failure.ts';
import type { StructuralCapability } from '../core/health.ts';
import { quoted } from '../../core/one-line.ts';
import type { Plan, Ranking } from '../core/plan.ts';
import { hasSuffix, variantNotSupported } from '../core/model-name.ts';
import { allowsModel, type ModelPatterns } from '../../core/model-patterns.ts';
import { maxTokensOf, type PreparedRequest, type PromptCounting, type Tokenizers } from '../../core/prompt.ts';
import type { AffinityOf } from './affinity.ts';
import { checkInputs, checkTask } from './check-task.ts';
import { type Asked, eligibleRoutes, lackOf } from './eligible.ts';
import { neverSeen, type RoutingView } from './health/route-status.ts';
import { nearNames } from './near-names.ts';
import { order } from './score.ts';
import type { SystemPlacement } from './system-placement.ts';

export interface PlanOptions {
  readonly snapshot: Snapshot;
  /** The models that the caller's key may call. Undefined: every model. */
  readonly allowedModels?: ModelPatterns | undefined;
  /** Whether `GET /v1/models` lists a model. Messages to callers name listed models only. Absent: all are listed. */
  readonly isListed?: ((model: Model) => boolean) | undefined;
  readonly capabilitiesOf: (route: Route) => Capabilities;
  /** A random number, 0 ≤ turn < 1, that picks the first route by its chance. */
  readonly turn: number;
  /** Absent: nothing is known of any route. */
  readonly health?: RoutingView;
  /** Absent: no conversation has its own route. */
  readonly affinityOf?: AffinityOf;
  /** What is known of a model's tokenizer, by its path. Absent: nothing is known. */
  readonly boundsOf?: Tokenizers['boundsOf'];
  /** Where engines accept system messages. Absent: nothing is known. */
  readonly placement?: Pick<SystemPlacement, 'of'>;
  /** Called with the ranking of the routes, even if no route is left. */
  readonly ranked?: (ranking: Ranking) => void;
}

/**
 * Plans a request: returns the routes that can serve it now, in the order in which they are tried. The catalog decides which routes
 * can serve it, and their health decides the order. A request that the catalog rules out is refused, whatever the health of the
 * routes. If all routes that could serve it are full or ejected, throws `no_capacity` at once. No request waits.
 */
export function makePlan(prepared: PreparedRequest, options: PlanOptions): Plan {
  const { capabilitiesOf, turn, health: view = neverSeen, affinityOf, boundsOf, placement } = options;
  const { request, shape } = prepared;
  const model = findModel(request.modelName, options);
  checkTask(model, request);
  if (!model.inputModalities.includes('image') && shape.callerImages > 0) {
    throw new Failure('modality_not_supported', `messages: ${model.id} takes no image parts`);
  }
  const template = model.tokenizer === undefined ? undefined : boundsOf?.(model.tokenizer.path);
  const placementOf = (route: Route): SystemMessages | undefined =>
    placement?.of(route) ?? route.capabilities.systemMessages ?? template?.systemMessages;
  const candidates = eligibleRoutes(request, model, capabilitiesOf, placementOf);
  const ask = { stream: request.stream, capabilities: structureNeeded(request) };
  const ranked = options.ranked && ((ranking: Ranking) => options.ranked?.(withUnable(ranking)));
  const affinity = affinityOf?.(shape.conversation);
  const ordered = order(candidates, { view, ask, turn, affinity, ranked });
  const [first, ...others] = ordered.candidates;
  if (first === undefined) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const leftOut = candidates.filter((candidate) => !ordered.candidates.includes(candidate));
  return { model, routes: [first, ...others], leftOut, affinity, equals: ordered.equals };

  /** Adds the routes that cannot serve the request, whatever their health. */
  function withUnable(ranking: Ranking): Ranking {
    if (candidates.length === model.routes.length) return ranking;
    const able = new Set(candidates.map(({ route }) => route));
    const unable = model.routes.filter((route) => !able.has(route));
    const lacks = unable.map((route) => ({
      routeId: route.id,
      why: 'cannot-serve' as const,
      lacks: lackOf(request, route, { model, capabilities: capabilitiesOf(route) }),
    }));
    return { ...ranking, leftOut: [...ranking.leftOut, ...lacks] };
  }
}

/**
 * Finds the model that a request names. Throws `model_not_found`, also for a model that the caller's key may not call, and
 * `variant_not_supported` for an unknown name with a suffix.
 */
function findModel(name: string, options: PlanOptions): Model {
  const { snapshot, allowedModels } = options;
  const model = modelNamed(snapshot, name);
  if (model === undefined && hasSuffix(name)) throw variantNotSupported();
  if (model === undefined || !allowsModel(allowedModels, model.id)) {
    throw new Failure('model_not_found', notFoundText(name, options));
  }
  return model;
}

/**
 * Repeats the model's name as the caller wrote it, which may be a secret. Like every message of a failure, the text is for the
 * caller alone.
 */
export function notFoundText(
  name: string,
  { snapshot, allowedModels, isListed = () => true }: Pick<PlanOptions, 'snapshot' | 'allowedModels' | 'isListed'>,
): string {
  const allowed = [...snapshot.models.keys()].filter((id) => allowsModel(allowedModels, id));
  const near = nearNames(name, allowed).filter((id) => {
    const model = snapshot.models.get(id);
    return model !== undefined && isListed(model);
  });
  const meant = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`;
  const lists = allowedModels === undefined ? 'the models' : 'what this key may call';
  return `model: ${quoted(name)} is not in the catalog.${meant} GET /v1/models lists ${lists}.`;
}

const none: readonly StructuralCapability[] = [];

/** The structure that the answer to a request must have. */
function structureNeeded({ tools, toolChoice, responseFormat }: Asked): readonly StructuralCapability[] {
  const calls = tools.length > 0 && toolChoice !== 'none';
  const format = responseFormat === undefined || responseFormat.type === 'text' ? undefined : responseFormat.type;
  if (!calls) return format === undefined ? none : [format];
  return format === undefined ? ['tools'] : ['tools', format];
}

export interface ContextOptions {
  readonly model: Model;
  readonly tokenizers: Tokenizers;
  /** How the prompt is counted on the route that is tried first. Undefined: the model has no tokenizer. */
  readonly counting: PromptCounting | undefined;
}

/**
 * Refuses a prompt that does not fit the model's window together with the output cap (docs/reference/endpoints.md §4.1.3). Most requests
 * pass by their size alone. The others are counted exactly. Without a tokenizer, or without its count, the engine decides. Returns what
 * `checkInputs` returns.
 */
export async function checkContext(
  prepared: PreparedRequest,
  options: ContextOptions,
): Promise<readonly number[] | undefined> {
  const { model, tokenizers, counting } = options;
  const { task } = prepared.request;
  if (task !== undefined) return checkInputs(prepared, task, options);
  // Without a cap, the output may use the rest of the window. It needs room for one token.
  const limit = model.contextLength - (prepared.request.maxOutputTokens ?? 1);
  if (limit < 1) throw contextOverflow(model);
  if (counting === undefined) return undefined;
  const bounds = tokenizers.boundsOf(counting.tokenizerPath);
  const most = bounds === undefined ? undefined : maxTokensOf(prepared.shape, bounds, counting.tokensPerImage);
  if (most !== undefined && most <= limit) return undefined;
  const count = await prepared.countPrompt({ ...counting, want: 'fit', limit });
  if (count.kind === 'over') throw contextOverflow(model);
  return undefined;
}

/**
 * The refusal of a prompt that does not fit the model's window together with the output cap (docs/reference/endpoints.md §4.1.3).
 * Agents shorten their conversation when the message has one of a few known phrases, so this message has them (docs/how-to/clients.md).
 */
export function contextOverflow({ contextLength }: Pick<Model, 'contextLength'>): Failure {
  return new Failure(
    'context_length_exceeded',
    `messages: prompt is too long: with the output cap it exceeds the context window, for this model's maximum context length is ` +
      `${contextLength} tokens: reduce the length of the messages or the cap.`,
  );
}
