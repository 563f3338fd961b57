import type { Capabilities, Feature, ReasoningSetting, RequestTarget, SystemMessages } from '../core/capability.ts';
import type { Model, Route } from '../core/catalog.ts';
import { Failure } from '../core/failure.ts';
import type { PlannedRoute } from '../core/plan.ts';
import { type Asked, needsOf, sentParameters } from './needs.ts';
import { settleReasoning } from './reasoning.ts';

/** A route that can serve the request, and how many of its optional parameters it honours. */
export interface Candidate extends PlannedRoute {
  readonly honoured: number;
}

interface Judged {
  readonly route: Route;
  readonly capabilities: Capabilities;
  readonly reasoning: ReasoningSetting | undefined | 'impossible';
}

/** Features of the request that the route refuses together; undefined when there is no such pair. */
function conflictOf(
  { capabilities, reasoning }: Judged,
  features: ReadonlySet<Feature>,
): readonly Feature[] | undefined {
  const reasons = typeof reasoning === 'object' && reasoning.enabled;
  return capabilities.conflicts.find((conflict) =>
    conflict.every((feature) => (feature === 'reasoning' ? reasons : features.has(feature))),
  );
}

/**
 * The routes of a model that can serve this exact request, transport included. Throws the refusal that names what no
 * route can do, or `param_combination_not_supported` when each part of it can be had, but nowhere all of them. `placementOf`
 * is where a route takes system messages, where more is known than the engine's table says.
 */
export function eligibleRoutes(
  asked: Asked,
  model: Model,
  capabilitiesOf: (route: Route) => Capabilities,
  placementOf: (route: Route) => SystemMessages | undefined = () => undefined,
): readonly Candidate[] {
  const needs = needsOf(asked);
  const { maxOutputTokens } = asked;
  const judged = model.routes.map((route): Judged => {
    const capabilities = capabilitiesOf(route);
    const control = capabilities.reasoning;
    return { route, capabilities, reasoning: settleReasoning(asked.reasoning, { model, control, maxOutputTokens }) };
  });
  if (judged.length === 0) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  for (const { feature, met, code, message } of needs) {
    if (!judged.some(({ capabilities }) => met(capabilities))) throw new Failure(code, message, { about: [feature] });
  }
  if (judged.every(({ reasoning }) => reasoning === 'impossible')) {
    throw new Failure('reasoning_not_disableable', `${model.id} cannot be kept from reasoning`, {
      about: ['reasoning'],
    });
  }

  const features = new Set(needs.map(({ feature }) => feature));
  const parameters = sentParameters(asked);
  const able = judged.flatMap(({ route, capabilities, reasoning }): readonly Candidate[] => {
    if (reasoning === 'impossible' || !needs.every(({ met }) => met(capabilities))) return [];
    if (conflictOf({ route, capabilities, reasoning }, features) !== undefined) return [];
    const honoured = parameters.filter((name) => capabilities.parameters.includes(name));
    const { backend, upstreamModel } = route;
    const target: RequestTarget = {
      ...{ engine: backend.engine, upstreamModel, parameters: honoured },
      ...(withholdsTools(asked, capabilities) ? { withholdsTools: true } : {}),
      ...(reasoning === undefined ? {} : { reasoning }),
      form: {
        systemMessages: placementOf(route) ?? capabilities.systemMessages,
        images: model.inputModalities.includes('image') ? 'sent' : 'described',
      },
    };
    return [{ route, target, honoured: honoured.length }];
  });
  if (able.length === 0) throw refusedTogether(judged, features);
  return able;
}

/** Tools that are not to be called are sent all the same where they can be: the prompt then begins as those before it did. */
function withholdsTools({ toolChoice, stream }: Asked, { tools, toolChoice: can }: Capabilities): boolean {
  return toolChoice === 'none' && !(tools[stream ? 'stream' : 'json'] && can.includes('none'));
}

function refusedTogether(judged: readonly Judged[], features: ReadonlySet<Feature>): Failure {
  const conflict = judged.map((one) => conflictOf(one, features)).find((found) => found !== undefined);
  const reasoning: readonly Feature[] = judged.some((one) => one.reasoning === 'impossible') ? ['reasoning'] : [];
  const about = conflict ?? [...features, ...reasoning];
  return new Failure('param_combination_not_supported', 'no route of this model supports them together', { about });
}
