import type { LiveCatalog } from '../core/live-catalog.ts';
import type * as api from './api/catalog.ts';
import type { PortalEvent } from './api/events.ts';
import type { ServiceReply } from './services.ts';

type LiveModel = LiveCatalog['models'][number];
type LiveBackend = LiveCatalog['backends'][number];
type LiveCondition = LiveBackend['conditions'][number];

/** Conditions that say something is wrong when they are true; all others when they are not. */
const badWhenTrue = new Set(['Retiring']);

type Problem = Extract<PortalEvent, { readonly name: 'health' }>['data']['problems'][number];

/** The catalog as all services together see it: a model by each service that has it. */
export function modelsOf(replies: readonly ServiceReply<LiveCatalog>[]): api.Model[] {
  const seen = new Map<string, { readonly service: string; readonly model: LiveModel }[]>();
  for (const reply of replies) {
    if (reply.kind === 'silent') continue;
    for (const model of reply.answer.models) {
      const others = seen.get(model.id) ?? [];
      seen.set(model.id, [...others, { service: reply.service, model }]);
    }
  }
  return [...seen.values()].map(modelOf).toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

function modelOf(views: readonly { readonly service: string; readonly model: LiveModel }[]): api.Model {
  const models = views.map(({ model }) => model);
  // Services differ in what they measure and, for a moment, in what they serve: the one that knows most tells what the model is.
  const [first] = models.toSorted((one, other) => Number(other.pricing !== null) - Number(one.pricing !== null));
  if (first === undefined) throw new RangeError('a model that no service has');
  const routes = views.flatMap(({ service, model }) => model.routes.map((route) => ({ service, ...route })));
  const listed = models.some((model) => model.listed);
  const isWhole = models.every((model) => model.listed) && routes.every(({ state }) => state === 'available');
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
  const away = routes.filter(({ state }) => state !== 'available');
  return away.length === 0 ? null : away.map(({ route, state }) => `${route} is ${state}`).join('; ');
}

/** What a member sees: what callers see, and neither routes nor what names a backend. */
export function forMembers(model: api.Model): api.Model {
  const reasons = {
    available: null,
    degraded: 'Some of its capacity is away.',
    unavailable: 'It has no capacity now.',
  };
  return { ...model, conditions: [], routes: null, reason: reasons[model.state] };
}

export function backendsOf(replies: readonly ServiceReply<LiveCatalog>[]): api.Backend[] {
  return replies.flatMap((reply) =>
    reply.kind === 'silent' ? [] : reply.answer.backends.map((backend) => ({ service: reply.service, ...backend })),
  );
}

export function servicesOf(replies: readonly ServiceReply<unknown>[]): api.ModelList['services'] {
  return replies.map((reply) => ({
    service: reply.service,
    answers: reply.kind === 'answer',
    problem: reply.kind === 'answer' ? null : reply.problem,
  }));
}

/** What is wrong now, most important first. */
export function problemsOf(replies: readonly ServiceReply<LiveCatalog>[]): Problem[] {
  const services = servicesOf(replies).flatMap(({ service, problem }): Problem[] =>
    problem === null ? [] : [{ kind: 'service', name: service, message: `The service does not answer: ${problem}.` }],
  );
  const models = modelsOf(replies).flatMap(({ id, state, reason }): Problem[] =>
    state === 'available' ? [] : [{ kind: 'model', name: id, message: reason ?? `It is ${state}.` }],
  );
  const backends = replies.flatMap((reply) =>
    reply.kind === 'silent' ? [] : reply.answer.backends.flatMap(problemOf),
  );
  return [...services, ...models, ...new Map(backends.map((problem) => [problem.name, problem])).values()];
}

function problemOf({ name, conditions }: LiveBackend): Problem[] {
  const wrong = conditions.find(isWrong);
  return wrong === undefined ? [] : [{ kind: 'backend', name, message: wrong.message || wrong.reason }];
}

function isWrong({ type, status }: LiveCondition): boolean {
  return badWhenTrue.has(type) ? status === 'True' : status === 'False';
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
