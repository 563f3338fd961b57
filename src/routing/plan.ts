import type { Capabilities, SystemMessages } from '../core/capability.ts';
import type { Model, Route, Snapshot } from '../core/catalog.ts';
import { Failure } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest, Tokenizers } from '../core/prompt.ts';
import type { PrefixAffinity } from './affinity.ts';
import { eligibleRoutes } from './eligible.ts';
import { order } from './order.ts';
import type { SystemPlacement } from './system-placement.ts';
import { neverSeen, type RoutingView } from './standing.ts';
import type { StructuralCapability } from '../core/health.ts';
import type { Asked } from './needs.ts';

const none: readonly StructuralCapability[] = [];

/** What a request needs a route to get right in form. */
function formsNeeded({ tools, toolChoice, responseFormat }: Asked): readonly StructuralCapability[] {
  const calls = tools.length > 0 && toolChoice !== 'none';
  const format = responseFormat === undefined || responseFormat.type === 'text' ? undefined : responseFormat.type;
  if (!calls) return format === undefined ? none : [format];
  return format === undefined ? ['tools'] : ['tools', format];
}

export interface PlanOptions {
  readonly snapshot: Snapshot;
  readonly capabilitiesOf: (route: Route) => Capabilities;
  /** A random number, 0 ≤ turn < 1: it picks the first route by its chance. */
  readonly turn: number;
  /** Absent: nothing is known of any route. */
  readonly health?: RoutingView;
  /** Absent: no route is preferred for what it has served before. */
  readonly affinity?: Pick<PrefixAffinity, 'digest' | 'servedBy'>;
  /** What is known of a model's tokenizer, by its path. Absent: nothing is. */
  readonly boundsOf?: Tokenizers['boundsOf'];
  /** Absent: no engine has shown anything. */
  readonly placement?: Pick<SystemPlacement, 'of'>;
}

/** Finds the model a request names. Throws `model_not_found`. */
function findModel(snapshot: Snapshot, modelId: string): Model {
  const model = snapshot.models.get(modelId);
  if (model === undefined) throw new Failure('model_not_found', 'model: not in the catalog; GET /v1/models lists it');
  return model;
}

/**
 * The routes that can serve this request now, in the order in which they are tried: filter by what the catalog says, score
 * by how they are doing, order. What the catalog refuses is refused however the routes are doing; where all that could serve
 * it are full or ejected, it is `no_capacity` at once, and nothing waits.
 */
export function makePlan(prepared: PreparedRequest, options: PlanOptions): Plan {
  const { snapshot, capabilitiesOf, turn, health: view = neverSeen, affinity, boundsOf, placement } = options;
  const { request, shape } = prepared;
  const model = findModel(snapshot, request.modelId);
  if (!model.inputModalities.includes('image') && shape.callerImages > 0) {
    throw new Failure('modality_not_supported', `messages: ${model.id} takes no image parts`);
  }
  const template = model.tokenizer === undefined ? undefined : boundsOf?.(model.tokenizer.path);
  const placementOf = (route: Route): SystemMessages | undefined =>
    placement?.of(route) ?? route.capabilities.systemMessages ?? template?.systemMessages;
  const candidates = eligibleRoutes(request, model, capabilitiesOf, placementOf);
  const ask = { stream: request.stream, capabilities: formsNeeded(request) };
  const [first, ...others] = order(candidates, { view, ask, turn, affine: affinity?.servedBy(shape.prefixes) });
  if (first === undefined) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const digest = affinity?.digest(shape.prefixes);
  const leftOut = candidates.length - others.length - 1;
  return { model, routes: [first, ...others], leftOut, ...(digest === undefined ? {} : { affinity: digest }) };
}
