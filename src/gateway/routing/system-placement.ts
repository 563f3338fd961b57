import type { OwnField, SystemMessages } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import { type Plan, type PlannedRoute, withRoutes } from '../core/plan.ts';

/**
 * Remembers where routes accept system messages, and which of the service's own fields they do not know. A route that refused a
 * system message in the middle of a conversation gets only leading ones from then on, until the catalog changes the route.
 */
export type SystemPlacement = ReturnType<typeof createSystemPlacement>;

export function createSystemPlacement() {
  const leadingOnly = new WeakSet<Route>();
  const unknown = new WeakMap<Route, readonly OwnField[]>();
  const unknownFields = (route: Route): readonly OwnField[] => unknown.get(route) ?? [];
  return {
    of: (route: Route): SystemMessages | undefined => (leadingOnly.has(route) ? 'Leading' : undefined),
    /** Call it when an engine has refused a request because of system messages in its middle. */
    refused: (route: Route): void => void leadingOnly.add(route),
    /** The service's own fields that the route does not know. */
    unknownFields,
    /** Call it when an engine has refused a request because of such fields, and has served it without them. */
    refusedFields: (route: Route, fields: ReadonlySet<OwnField>): void =>
      void unknown.set(route, changedFields(unknownFields(route), fields)),
  };
}

/** The fields that a route does not know after a refusal. A second spelling that is refused, too, gives way to the first. */
export function changedFields(
  known: readonly OwnField[],
  refused: ReadonlySet<OwnField> = new Set(),
): readonly OwnField[] {
  return [...known.filter((field) => !refused.has(field)), ...[...refused].filter((field) => !known.includes(field))];
}

/** Returns the plan without fields that its routes do not know. */
export function withoutFields(plan: Plan, unknownFields: (route: Route) => readonly OwnField[]): Plan {
  return withRoutes(plan, (planned) => {
    const fields = unknownFields(planned.route);
    return fields.length === 0 ? planned : { ...planned, target: { ...planned.target, unknownFields: fields } };
  });
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
