import type { Model, Snapshot } from '../core/catalog.ts';
import { Failure } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prepared.ts';

/** Finds the model a request names. Throws `model_not_found`. */
function findModel(snapshot: Snapshot, modelId: string): Model {
  const model = snapshot.models.get(modelId);
  if (model === undefined) throw new Failure('model_not_found', 'model: not in the catalog; GET /v1/models lists it');
  return model;
}

/**
 * The routes that can serve this request, heaviest first. `turn` (0 ≤ turn < 1, random) picks the first among them by
 * weight; the rest follow as fallbacks. Throws the refusal that fits when none can.
 */
export function makePlan(prepared: PreparedRequest, snapshot: Snapshot, turn: number): Plan {
  const model = findModel(snapshot, prepared.request.modelId);
  if (!model.inputModalities.includes('image') && prepared.hasImages) {
    throw new Failure('modality_not_supported', `messages: ${model.id} takes no image parts`);
  }
  if (model.routes.length === 0) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const byWeight = [...model.routes].sort((a, b) => b.weight - a.weight);
  let point = turn * byWeight.reduce((sum, route) => sum + route.weight, 0);
  const first = byWeight.find((route) => (point -= route.weight) < 0) ?? byWeight[0];
  return { model, routes: byWeight.toSorted((a, b) => Number(b === first) - Number(a === first)) };
}
