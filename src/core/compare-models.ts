/** Compares an engine's list of models with what the manifests declare of it. */
import { type Backend, isProvider, type Model, type Route } from './catalog.ts';
import type { EngineName } from './engine-name.ts';
import { type EngineModel, runningWindow } from './model-list.ts';
import { didYouMean } from './near-name.ts';
import { printableLine } from './printable.ts';

export interface DeclaredRoute {
  readonly model: Pick<Model, 'id' | 'contextLength'>;
  readonly route: Pick<Route, 'upstreamModel'> & { readonly backend: Pick<Backend, 'engine' | 'cluster'> };
}

/** What an engine lists otherwise than it is declared. The text names the field. */
export interface ListDifference {
  readonly of: 'model' | 'window';
  readonly text: string;
}

const maxNames = 5;
const maxNameLength = 80;

/** The entry of a route's model in its engine's list. */
export function entryFor(models: readonly EngineModel[], { route }: DeclaredRoute): EngineModel | undefined {
  const { upstreamModel, backend } = route;
  // llama.cpp serves one model, whatever its name in the request.
  if (backend.engine === 'llamacpp' && models.length === 1) return models[0];
  const names = listedNames(backend.engine, upstreamModel);
  return models.find(({ id }) => names.includes(id));
}

/** The names under which an engine lists a model. Ollama adds a tag to a name without one. */
export const listedNames = (engine: EngineName, model: string): readonly string[] =>
  engine === 'ollama' ? [model, `${model}:latest`] : [model];

/** Undefined: the list says what is declared. A provider may list only a part of its models. */
export function listDifference(models: readonly EngineModel[], declared: DeclaredRoute): ListDifference | undefined {
  const { model, route } = declared;
  const entry = entryFor(models, declared);
  if (entry === undefined) {
    if (isProvider(route.backend)) return undefined;
    const names = models.map(({ id }) => printableLine(id.slice(0, maxNameLength)));
    const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
    const near = didYouMean(route.upstreamModel, names);
    const listed = `${names.slice(0, maxNames).join(', ')}${more}`;
    return { of: 'model', text: `upstreamModel "${route.upstreamModel}" is not listed${near}; it lists ${listed}` };
  }
  const window = runningWindow(entry);
  if (window === undefined || window >= model.contextLength) return undefined;
  return {
    of: 'window',
    text: `contextLength ${model.contextLength} of ${model.id} is more than its ${window} tokens`,
  };
}
