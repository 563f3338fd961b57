import type { Capabilities, Feature, ParameterName } from '../core/capability.ts';
import type { FailureCode } from '../core/failure.ts';
import type { Request, Sampling } from '../core/request.ts';

export type Asked = Omit<Request, 'messages'>;

/** Something a route must be able to do for this exact request. */
export interface Need {
  readonly feature: Feature;
  /** The refusal when no route can. */
  readonly code: FailureCode;
  /** Says what cannot be had. */
  readonly message: string;
  readonly met: (capabilities: Capabilities) => boolean;
}

/** Parameters whose absence a caller would notice: a route that lacks one cannot serve the request (docs/reference/api.md §4.1). */
export const demandable: readonly ParameterName[] = [
  ...(['stop', 'seed', 'n', 'logprobs', 'top_logprobs', 'logit_bias'] as const),
  ...(['frequency_penalty', 'presence_penalty', 'parallel_tool_calls'] as const),
];

/** Whether a parameter asks for nothing but what an engine does anyway. */
function isDefault(name: ParameterName, sampling: Sampling): boolean {
  const value = sampling[name];
  switch (name) {
    case 'n':
      return value === 1;
    case 'logprobs':
      return value === false;
    case 'frequency_penalty':
    case 'presence_penalty':
      return value === 0;
    case 'parallel_tool_calls':
      return value === true;
    case 'stop':
      return Array.isArray(value) && value.length === 0;
    case 'logit_bias':
      return typeof value === 'object' && Object.keys(value).length === 0;
    case 'temperature':
    case 'top_p':
    case 'seed':
    case 'top_logprobs':
    case 'top_k':
    case 'min_p':
    case 'repetition_penalty':
    case 'top_a':
      return false;
  }
}

/** Parameters worth sending: those that are there and ask for something. */
export function sentParameters(asked: Asked): readonly ParameterName[] {
  const { sampling, tools } = asked;
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Object.keys forgets the key type
  const names = Object.keys(sampling) as ParameterName[];
  return names.filter((name) => {
    // Without tools it says nothing, and some engines refuse it then.
    if (name === 'parallel_tool_calls' && tools.length === 0) return false;
    return sampling[name] !== undefined && !isDefault(name, sampling);
  });
}

function toolNeeds({ tools, toolChoice, stream }: Asked): readonly Need[] {
  const transport = stream ? 'stream' : 'json';
  // Told not to call any, a model needs no tools: they are left out.
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

/** What a route must be able to do to serve this exact request, transport included. */
export function needsOf(asked: Asked): readonly Need[] {
  const parameters = sentParameters(asked).filter((name) => demandable.includes(name));
  return [
    ...toolNeeds(asked),
    ...formatNeeds(asked),
    ...parameters.map((name): Need => ({
      feature: name,
      code: 'param_not_supported',
      message: 'no route of this model supports it',
      met: ({ parameters: can }) => can.includes(name),
    })),
  ];
}
