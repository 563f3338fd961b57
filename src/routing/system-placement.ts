import type { SystemMessages } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { Plan } from '../core/plan.ts';

/**
 * Where the routes take system messages, as far as their engines have shown: one that refused a request with a later system
 * message is sent leading ones only from then on. A route is remembered until the catalog changes it.
 */
export interface SystemPlacement {
  readonly of: (route: Route) => SystemMessages | undefined;
  /** An engine has refused a request whose system messages stood where they were sent. */
  readonly refused: (route: Route) => void;
}

export function createSystemPlacement(): SystemPlacement {
  const leadingOnly = new WeakSet<Route>();
  return {
    of: (route) => (leadingOnly.has(route) ? 'Leading' : undefined),
    refused: (route) => void leadingOnly.add(route),
  };
}

/** The plan with leading system messages only; undefined when that is what it has already. */
export function leadingPlan(plan: Plan): Plan | undefined {
  const lead = (planned: Plan['routes'][number]): Plan['routes'][number] => {
    const { form } = planned.target;
    if (form === undefined || form.systemMessages === 'Leading') return planned;
    return { ...planned, target: { ...planned.target, form: { ...form, systemMessages: 'Leading' } } };
  };
  const [first, ...others] = plan.routes;
  const routes: Plan['routes'] = [lead(first), ...others.map(lead)];
  return routes.every((planned, at) => planned === plan.routes[at]) ? undefined : { ...plan, routes };
}
