import { type Behaviour, type BehaviourInput, parseBehaviour } from './behaviour.ts';
import type { EngineIdentity } from './identity.ts';

/** A model that the engine serves. */
export interface EngineModel {
  readonly id: string;
  readonly maxModelLen: number;
  /** How this model behaves unless the engine or the request is told otherwise. */
  readonly behaviour: Behaviour;
}

/** What callers give: a name is a model with an ordinary window and ordinary manners. */
export type EngineModelInput =
  | string
  | { readonly id: string; readonly maxModelLen?: number; readonly behaviour?: BehaviourInput };

export function engineModelOf(input: EngineModelInput): EngineModel {
  const given = typeof input === 'string' ? { id: input } : input;
  return { id: given.id, maxModelLen: given.maxModelLen ?? 131_072, behaviour: parseBehaviour(given.behaviour ?? {}) };
}

/** The answer to `GET /v1/models`, as vLLM gives it. */
export function modelList(models: readonly EngineModel[], identity: EngineIdentity): unknown {
  return {
    object: 'list',
    data: models.map((model) => ({
      id: model.id,
      object: 'model',
      created: 1_767_225_600,
      owned_by: identity.ownedBy,
      root: model.id,
      parent: null,
      max_model_len: model.maxModelLen,
      permission: [],
    })),
  };
}
