import type {
  Capabilities,
  Feature,
  ReasoningControl,
  ReasoningSetting,
  RequestTarget,
  SystemMessages,
} from '../../core/capability.ts';
import type { Model, Route } from '../../core/catalog.ts';
import { type ReasoningAsk, type ReasoningEffort, reasoningEfforts, type Request } from '../../core/request.ts';
import { Failure, type FailureCode } from '../../core/failure.ts';
import { asksForDefault, isParameter, type ParameterName, parameterNames, parameters } from '../../core/parameters.ts';
import type { PlannedRoute } from '../core/plan.ts';
import { shortenedTo } from './check-task.ts';

/** A route that can serve the request, and how many of the request's optional parameters it honours. */
export interface Candidate extends PlannedRoute {
  readonly honoured: number;
}

/** A route, its capabilities, and the reasoning that a request gets on it. */
interface Assessed {
  readonly route: Route;
  readonly capabilities: Capabilities;
  readonly reasoning: ReasoningSetting | undefined | 'impossible';
}

/** Returns features of the request that the route refuses together. Undefined: there is no such pair. */
function conflictOf(
  { capabilities, reasoning }: Assessed,
  features: ReadonlySet<Feature>,
): readonly Feature[] | undefined {
  const reasons = typeof reasoning === 'object' && reasoning.enabled;
  return capabilities.conflicts.find((conflict) =>
    conflict.every((feature) => (feature === 'reasoning' ? reasons : features.has(feature))),
  );
}

/**
 * Returns the routes of a model that can serve this exact request, transport included. If no route can do some part of it, throws
 * the refusal of that part. If each part has a route, but all parts together have none, throws `param_combination_not_supported`.
 * `placementOf` returns where a route was observed to accept system messages. Undefined: the engine's table decides.
 */
export function eligibleRoutes(
  asked: Asked,
  model: Model,
  capabilitiesOf: (route: Route) => Capabilities,
  placementOf: (route: Route) => SystemMessages | undefined = () => undefined,
): readonly Candidate[] {
  const needs = needsOf(asked);
  const assessed = model.routes.map((route): Assessed => {
    const capabilities = capabilitiesOf(route);
    return { route, capabilities, reasoning: reasoningOn(route, asked, { model, capabilities }) };
  });
  if (assessed.length === 0) throw new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  for (const { feature, met, code, message } of needs) {
    if (!assessed.some(({ capabilities }) => met(capabilities))) throw new Failure(code, message, { about: [feature] });
  }
  if (assessed.every(({ reasoning }) => reasoning === 'impossible')) {
    throw new Failure('reasoning_not_disableable', `${model.id} cannot be kept from reasoning`, {
      about: ['reasoning'],
    });
  }

  const features = new Set(needs.map(({ feature }) => feature));
  const sent = sentParameters(asked);
  const able = assessed.flatMap(({ route, capabilities, reasoning }): readonly Candidate[] => {
    if (reasoning === 'impossible' || !needs.every(({ met }) => met(capabilities))) return [];
    if (conflictOf({ route, capabilities, reasoning }, features) !== undefined) return [];
    const honoured = sent.filter((name) => capabilities.parameters.includes(name));
    const { backend, upstreamModel } = route;
    const target: RequestTarget = {
      engine: backend.engine,
      upstreamModel,
      ...operatorValues(asked, backend),
      parameters: honoured,
      withholdsTools: withholdsTools(asked, capabilities) ? true : undefined,
      reasoning,
      shortenTo: shortenedTo(model, asked),
      form: {
        systemMessages: placementOf(route) ?? capabilities.systemMessages,
        images: model.inputModalities.includes('image') ? 'sent' : 'described',
      },
    };
    return [{ route, target, honoured: honoured.length }];
  });
  if (able.length === 0) throw refusedTogether(assessed, features);
  return able;
}

/** Returns why a route cannot serve a request: the parts that it cannot do, else the parts that it refuses together. */
export function lackOf(
  asked: Asked,
  route: Route,
  { model, capabilities }: { readonly model: Model; readonly capabilities: Capabilities },
): readonly Feature[] {
  const needs = needsOf(asked);
  const unmet = needs.filter(({ met }) => !met(capabilities)).map(({ feature }) => feature);
  const reasoning = reasoningOn(route, asked, { model, capabilities });
  const lacks: readonly Feature[] = reasoning === 'impossible' ? [...unmet, 'reasoning'] : unmet;
  if (lacks.length > 0) return lacks;
  return conflictOf({ route, capabilities, reasoning }, new Set(needs.map(({ feature }) => feature))) ?? [];
}

/** The reasoning of a request on a route, with the default and the bound of the Backend. */
function reasoningOn(
  { backend: { defaults, bounds } }: Route,
  { reasoning: ask, maxOutputTokens }: Asked,
  { model, capabilities }: { readonly model: Model; readonly capabilities: Capabilities },
): Assessed['reasoning'] {
  const deepest = reasoningEfforts.indexOf(bounds?.reasoning?.effort ?? 'max');
  const within = (effort: ReasoningEffort): boolean => reasoningEfforts.indexOf(effort) <= deepest;
  const control = { ...capabilities.reasoning, efforts: capabilities.reasoning.efforts.filter(within) };
  const settle = (asked: ReasoningAsk | undefined) => settleReasoning(asked, { model, control, maxOutputTokens });
  const settled = settle(ask ?? defaults?.reasoning);
  // A default must not take a route from a caller who did not ask for it.
  return settled === 'impossible' && ask === undefined ? settle(undefined) : settled;
}

/** The values of the operator's that a request gets on a Backend: never over what the caller said. */
function operatorValues(
  { sampling, maxOutputTokens }: Asked,
  { defaults, bounds }: Route['backend'],
): Pick<RequestTarget, 'sampling' | 'maxOutputTokens'> {
  if (defaults === undefined && bounds === undefined) return {};
  const cap = Math.min(
    maxOutputTokens === undefined ? (defaults?.maxOutputTokens ?? Infinity) : Infinity,
    bounds?.maxOutputTokens ?? Infinity,
  );
  const values = { ...defaults?.sampling, ...sampling };
  const highest = bounds?.sampling.temperature ?? Infinity;
  const bounded = (values.temperature ?? 0) > highest ? { ...values, temperature: highest } : values;
  const own = Object.entries(bounded).filter(([name, value]) => isParameter(name) && sampling[name] !== value);
  return {
    sampling: Object.fromEntries(own),
    maxOutputTokens: cap === Infinity ? undefined : cap,
  };
}

/** Tools that must not be called are still sent to an engine with a parameter for that. The beginning of the prompt stays the same, and its prefix cache is used. */
function withholdsTools({ toolChoice, stream }: Asked, { tools, toolChoice: can }: Capabilities): boolean {
  return toolChoice === 'none' && !(tools[stream ? 'stream' : 'json'] && can.includes('none'));
}

function refusedTogether(assessed: readonly Assessed[], features: ReadonlySet<Feature>): Failure {
  const conflict = assessed.map((one) => conflictOf(one, features)).find((found) => found !== undefined);
  const reasoning: readonly Feature[] = assessed.some((one) => one.reasoning === 'impossible') ? ['reasoning'] : [];
  const about = conflict ?? [...features, ...reasoning];
  return new Failure('param_combination_not_supported', 'no route of this model supports them together', { about });
}

export type Asked = Omit<Request, 'messages'>;

/** Something that a route must be able to do for this exact request. */
export interface Need {
  readonly feature: Feature;
  /** Code of the refusal if no route can meet the need. */
  readonly code: FailureCode;
  readonly message: string;
  readonly met: (capabilities: Capabilities) => boolean;
}

/**
 * Returns the parameters of the request that are sent. Leaves out parameters of tools if there are no tools, and parameters that
 * ask for the default.
 */
function sentParameters({ sampling, tools }: Asked): readonly ParameterName[] {
  return parameterNames.filter((name) => {
    if (parameters[name].needs === 'tools' && tools.length === 0) return false;
    return sampling[name] !== undefined && !asksForDefault(name, sampling);
  });
}

function toolNeeds({ tools, toolChoice, stream }: Asked): readonly Need[] {
  const transport = stream ? 'stream' : 'json';
  // A model that must not call a tool needs none, so all are left out.
  if (tools.length === 0 || toolChoice === 'none') return [];
  const code = 'tools_not_supported';
  const needs: Need[] = [
    {
      feature: 'tools',
      code,
      message: 'no route of this model can call tools',
      met: ({ tools: can }) => can[transport],
    },
  ];
  if (toolChoice === undefined || toolChoice === 'auto') return needs;
  const form = typeof toolChoice === 'string' ? toolChoice : 'named';
  const message = `no route of this model can be made to call ${form === 'named' ? 'a named tool' : 'a tool'}`;
  return [...needs, { feature: 'tool_choice', code, message, met: ({ toolChoice: can }) => can.includes(form) }];
}

function formatNeeds({ responseFormat, stream }: Asked): readonly Need[] {
  if (responseFormat === undefined || responseFormat.type === 'text') return [];
  const { type } = responseFormat;
  const transport = stream ? 'stream' : 'json';
  const how = stream ? ' on a stream' : '';
  return [
    {
      feature: 'response_format',
      code: 'response_format_not_supported',
      message: `no route of this model honours ${type}${how}`,
      met: ({ responseFormats }) => responseFormats[transport].includes(type),
    },
  ];
}

/** Returns everything that a route must be able to do to serve this exact request, transport included. */
function needsOf(asked: Asked): readonly Need[] {
  const demanded = sentParameters(asked).filter((name) => parameters[name].withoutIt === 'refused');
  return [
    ...toolNeeds(asked),
    ...formatNeeds(asked),
    ...demanded.map((name): Need => ({
      feature: name,
      code: 'param_not_supported',
      message: 'no route of this model supports it',
      met: (can) => can.parameters.includes(name),
    })),
  ];
}

/** A reasoning budget counts as a level from this share of the output cap, or from this number of tokens if there is no cap. */
const levels: readonly { readonly effort: ReasoningEffort; readonly share: number; readonly tokens: number }[] = [
  { effort: 'max', share: 0.9, tokens: 32_768 },
  { effort: 'high', share: 0.65, tokens: 12_288 },
  { effort: 'medium', share: 0.35, tokens: 4096 },
  { effort: 'low', share: 0, tokens: 0 },
];

/** Returns the level nearest to a reasoning budget, for routes that accept no budgets. */
export function effortOfBudget(budgetTokens: number, maxOutputTokens: number | undefined): ReasoningEffort {
  const reached = levels.find(({ share, tokens }) =>
    maxOutputTokens === undefined ? budgetTokens >= tokens : budgetTokens >= share * maxOutputTokens,
  );
  return reached?.effort ?? 'low';
}

/**
 * Returns the deepest supported level that is not deeper than the requested level. If all are deeper, returns the shallowest level.
 */
function clamp(asked: ReasoningEffort, supported: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const wanted = reasoningEfforts.indexOf(asked);
  return supported.findLast((effort) => reasoningEfforts.indexOf(effort) <= wanted) ?? supported[0];
}

/**
 * Returns the reasoning of a request on a route (docs/reference/endpoints.md §4.1.1). A request that names no level or budget gets the
 * deepest level that the route provably honours. A level is limited to the levels of the route. A budget is passed on, or becomes a
 * level. Undefined: the model does not reason. `impossible`: reasoning must be off, and the route cannot turn it off.
 */
export function settleReasoning(
  ask: ReasoningAsk | undefined,
  options: { readonly model: Model; readonly control: ReasoningControl; readonly maxOutputTokens: number | undefined },
): ReasoningSetting | undefined | 'impossible' {
  const { model, control, maxOutputTokens } = options;
  const { mode, efforts } = model.reasoning;
  if (mode === 'None') return undefined;
  if (ask?.enabled === false) return mode === 'Optional' && control.off ? { enabled: false } : 'impossible';
  if (ask?.budgetTokens !== undefined && control.budget) return { enabled: true, budgetTokens: ask.budgetTokens };
  const supported = reasoningEfforts.filter((effort) => control.efforts.includes(effort) && efforts.includes(effort));
  const asked =
    ask?.budgetTokens === undefined ? (ask?.effort ?? 'max') : effortOfBudget(ask.budgetTokens, maxOutputTokens);
  const effort = clamp(asked, supported);
  return { enabled: true, effort };
}
