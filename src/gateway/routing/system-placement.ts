import type { SystemMessages } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import { type Plan, type PlannedRoute, withRoutes } from '../core/plan.ts';

/**
 * Remembers where routes accept system messages. A route that refused a system message in the middle of a conversation gets only
 * leading ones from then on, until the catalog changes the route.
 */
export interface SystemPlacement {
  readonly of: (route: Route) => SystemMessages | undefined;
  /** Call it when an engine has refused a request because of system messages in its middle. */
  readonly refused: (route: Route) => void;
}

export function createSystemPlacement(): SystemPlacement {
  const leadingOnly = new WeakSet<Route>();
  return {
    of: (route) => (leadingOnly.has(route) ? 'Leading' : undefined),
    refused: (route) => void leadingOnly.add(route),
  };
}

/** Returns the plan with leading system messages only. Undefined: the plan sends no system messages elsewhere. */
export function leadingPlan(plan: Plan): Plan | undefined {
  const lead = (planned: PlannedRoute): PlannedRoute => {
    const { form } = planned.target;
    if (form === undefined || form.systemMessages === 'Leading') return planned;
    return { ...planned, target: { ...planned.target, form: { ...form, systemMessages: 'Leading' } } };
  };
  const leading = withRoutes(plan, lead);
  return leading.routes.every((planned, at) => planned === plan.routes[at]) ? undefined : leading;
}
