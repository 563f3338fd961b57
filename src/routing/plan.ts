import type { Capabilities } from '../core/capability.ts';
import type { Model, Route, Snapshot } from '../core/catalog.ts';
import { Failure } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prepared.ts';
import { type Candidate, eligibleRoutes } from './eligible.ts';

export interface PlanOptions {
  readonly snapshot: Snapshot;
  readonly capabilitiesOf: (route: Route) => Capabilities;
  /** A random number, 0 ≤ turn < 1: it picks the first route by weight. */
  readonly turn: number;
}

/** Finds the model a request names. Throws `model_not_found`. */
function findModel(snapshot: Snapshot, modelId: string): Model {
  const model = snapshot.models.get(modelId);
  if (model === undefined) throw new Failure('model_not_found', 'model: not in the catalog; GET /v1/models lists it');
  return model;
}

/** The one whose turn it is among candidates, by weight. */
function pick(candidates: readonly Candidate[], turn: number): Candidate | undefined {
  let point = turn * candidates.reduce((sum, { route }) => sum + route.weight, 0);
  return candidates.find(({ route }) => (point -= route.weight) < 0) ?? candidates[0];
}

/**
 * The routes that can serve this request: those that honour most of its optional parameters first, one of them by
 * weight, then the heaviest. Throws the refusal that fits when none can.
 */
export function makePlan(prepared: PreparedRequest, options: PlanOptions): Plan {
  const model = findModel(options.snapshot, prepared.request.modelId);
  if (!model.inputModalities.includes('image') && prepared.shape.images > 0) {
    throw new Failure('modality_not_supported', `messages: ${model.id} takes no image parts`);
  }
  const candidates = eligibleRoutes(prepared.request, model, options.capabilitiesOf).toSorted(
    (a, b) => b.honoured - a.honoured || b.route.weight - a.route.weight,
  );
  const most = Math.max(...candidates.map(({ honoured }) => honoured));
  const first = pick(
    candidates.filter(({ honoured }) => honoured === most),
    options.turn,
  );
  if (first === undefined) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const others = candidates.filter((candidate) => candidate !== first);
  return { model, routes: [first, ...others] };
}
