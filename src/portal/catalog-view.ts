import { causeReason, causes } from '../core/cause.ts';
import type { LiveBackend, LiveCatalog, LiveModel } from '../control/core/live-catalog.ts';
import type * as api from './api/catalog.ts';
import type { Answers, ServiceAnswer } from './services.ts';

type LiveCondition = LiveBackend['conditions'][number];

/** Conditions that report a problem when they are true. All others report one when they are not true. */
const badWhenTrue = new Set(['Retiring']);

/** Routes in these states get requests only when no other route can take them. Full and probed routes are in use. */
const unused: ReadonlySet<string> = new Set(['ejected', 'invalid-structure', 'last-resort', 'other-vectors']);

/** The catalog of all services: each model once, merged from the services that have it. */
export function modelsOf({ data }: Answers<LiveCatalog>): api.ModelObject[] {
  const seen = new Map<string, { readonly service: string; readonly model: LiveModel }[]>();
  for (const { service, said } of data) {
    for (const model of said.models) seen.set(model.id, [...(seen.get(model.id) ?? []), { service, model }]);
  }
  return [...seen.values()].map(modelOf).toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** The prices of the models that have some, by their ids. */
export const pricesIn = (catalog: Answers<LiveCatalog>) =>
  modelsOf(catalog).flatMap(({ id, pricing }) => (pricing === null ? [] : [[id, pricing] as const]));

function modelOf(views: readonly { readonly service: string; readonly model: LiveModel }[]): api.ModelObject {
  const models = views.map(({ model }) => model);
  // Services may serve different catalogs for a moment. A view with prices is preferred.
  const [first] = models.toSorted((one, other) => Number(other.pricing !== null) - Number(one.pricing !== null));
  if (first === undefined) throw new RangeError('a model that no service has');
  const routes = views.flatMap(({ service, model }) => model.routes.map((route) => ({ service, ...route })));
  const listed = models.some((model) => model.listed);
  const isWhole = models.every((model) => model.listed) && routes.every(({ state }) => !unused.has(state));
  const wrong = models.flatMap((model) => model.conditions).find(isWrong);
  const { conditions, routes: _, listed: __, ...facts } = first;
  return {
    ...facts,
    listed,
    state: !listed ? 'unavailable' : isWhole ? 'available' : 'degraded',
    reason: listed && isWhole ? null : (wrong?.message ?? routeReason(routes)),
    availability: meanOf(models.map((model) => model.availability)),
    tokens_per_second_p50: meanOf(models.map((model) => model.tokens_per_second_p50)),
    first_token_ms_p50: meanOf(models.map((model) => model.first_token_ms_p50)),
    conditions,
    routes,
  };
}

function routeReason(routes: readonly { readonly route: string; readonly state: string }[]): string | null {
  const gone = routes.filter(({ state }) => unused.has(state));
  return gone.length === 0 ? null : gone.map(({ route, state }) => `${route} is ${state}`).join('; ');
}

/** The view of a member: without routes, conditions and names of backends. */
export function forMembers(model: api.ModelObject): api.ModelObject {
  const reasons = {
    available: null,
    degraded: 'Some of its capacity is unavailable.',
    unavailable: 'It has no capacity now.',
  };
  return { ...model, conditions: [], routes: null, reason: reasons[model.state] };
}

const wordsOfReason = new Map(Object.entries(causes).map(([name, { words }]) => [causeReason(name), words]));

function causeOf({ conditions }: LiveBackend): string | null {
  const healthy = conditions.find(({ type, status }) => type === 'Healthy' && status === 'False');
  return wordsOfReason.get(healthy?.reason ?? '') ?? null;
}

export function backendsOf({ data }: Answers<LiveCatalog>): api.BackendObject[] {
  return data.flatMap(({ service, said }) =>
    said.backends.map((backend) => ({ service, ...backend, cause: causeOf(backend) })),
  );
}

export function servicesOf(services: readonly ServiceAnswer[]): api.ModelListObject['services'] {
  return services.map((one) => ({ ...one }));
}

function isWrong({ type, status }: LiveCondition): boolean {
  return badWhenTrue.has(type) ? status === 'True' : status === 'False';
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
