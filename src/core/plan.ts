import type { Model, Route } from './catalog.ts';

/** The routes that can serve an exact request, best first. */
export interface Plan {
  readonly model: Model;
  readonly routes: readonly Route[];
}
