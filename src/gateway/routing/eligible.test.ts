import { describe, expect, it } from 'vitest';
import type { Capabilities, ReasoningControl } from '../../core/capability.ts';
import type { Model, Route } from '../../core/catalog.ts';
import type { Failure } from '../../core/failure.ts';
import { parametersOf } from '../../core/parameters.ts';
import type { ReasoningAsk } from '../../core/request.ts';
import { engines } from '../engines/engines.ts';
import { type Asked, effortOfBudget, eligibleRoutes, settleReasoning } from './eligible.ts';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';

const all: Capabilities = { ...engines.vllm.capabilities, parameters: parametersOf('vllm'), conflicts: [] };
const tool = { name: 'f' };
const asks = (more: Partial<Asked> = {}): Asked => ({
  ...{ modelName: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
  ...more,
});

/** Names of the routes that can serve it, or the code and the field of the refusal. */
function eligible(
  asked: Asked,
  routes: readonly Partial<Capabilities>[],
  mode: 'Optional' | 'None' = 'Optional',
): string {
  const named = routes.map((_, index) => routeOf(String(index)));
  const known = new Map<Route, Capabilities>(named.map((route, index) => [route, { ...all, ...routes[index] }]));
  const model = modelOf(named, { reasoning: { mode, efforts: mode === 'None' ? [] : ['low', 'high'] } });
  try {
    const able = eligibleRoutes(asked, model, (route) => known.get(route) ?? all);
    return able.map(({ route }) => route.backend.name).join(' ');
  } catch (error) {
    const { code, message, about } = error as Failure;
    return `${code} ${about.length === 0 ? message : about.join(' and ')}`;
  }
}

const noTools = { tools: { json: false, stream: false } };
const jsonOnly = { tools: { json: true, stream: false } };
const without = (...names: readonly string[]): Partial<Capabilities> => ({
  parameters: all.parameters.filter((name) => !names.includes(name)),
});
const objectOnly = (transport: 'json' | 'stream'): Partial<Capabilities> => ({
  responseFormats: {
    ...{ json: ['json_object', 'json_schema'], stream: ['json_object', 'json_schema'] },
    [transport]: ['json_object'],
  },
});
const schema = { type: 'json_schema', name: 's' } as const;
const tools = [tool];
const off = { enabled: false };
const cannotBeOff = { reasoning: { ...all.reasoning, off: false } };

describe('the routes that can serve an exact request', () => {
  it.each<readonly [string, Asked, readonly Partial<Capabilities>[], string]>([
    ['a plain one goes anywhere', asks(), [noTools, without('seed')], '0 1'],
    ['tools go where there are tools', asks({ tools }), [noTools, {}], '1'],
    ['tools nowhere', asks({ tools }), [noTools], 'tools_not_supported tools'],
    ['tools on a stream only where they stream', asks({ tools, stream: true }), [jsonOnly, {}], '1'],
    ['tools on a stream nowhere', asks({ tools, stream: true }), [jsonOnly], 'tools_not_supported tools'],
    ['tools that may not be called need no tools', asks({ tools, toolChoice: 'none' }), [noTools], '0'],
    ['a forced tool', asks({ tools, toolChoice: { name: 'f' } }), [{ toolChoice: ['auto'] }, {}], '1'],
    [
      'a forced tool nowhere',
      asks({ tools, toolChoice: 'required' }),
      [{ toolChoice: ['auto'] }],
      'tools_not_supported tool_choice',
    ],
    ['a schema', asks({ responseFormat: schema }), [objectOnly('json'), {}], '1'],
    [
      'a schema nowhere',
      asks({ responseFormat: schema }),
      [objectOnly('json')],
      'response_format_not_supported response_format',
    ],
    ['a schema in the other transport', asks({ responseFormat: schema }), [objectOnly('stream')], '0'],
    [
      'a schema on a stream',
      asks({ responseFormat: schema, stream: true }),
      [objectOnly('stream')],
      'response_format_not_supported response_format',
    ],
    [
      'text is no format',
      asks({ responseFormat: { type: 'text' } }),
      [{ responseFormats: { json: [], stream: [] } }],
      '0',
    ],
    ['a demanded parameter', asks({ sampling: { seed: 1 } }), [without('seed'), {}], '1'],
    ['a demanded parameter nowhere', asks({ sampling: { seed: 1 } }), [without('seed')], 'param_not_supported seed'],
    ['seed 0 is a seed', asks({ sampling: { seed: 0 } }), [without('seed')], 'param_not_supported seed'],
    ['n = 1 asks for nothing', asks({ sampling: { n: 1 } }), [without('n')], '0'],
    [
      'penalties of 0 ask for nothing',
      asks({ sampling: { frequency_penalty: 0, presence_penalty: 0 } }),
      [without('frequency_penalty', 'presence_penalty')],
      '0',
    ],
    [
      'parallel calls without tools ask for nothing',
      asks({ sampling: { parallel_tool_calls: false } }),
      [without('parallel_tool_calls')],
      '0',
    ],
    ['an optional one is no demand', asks({ sampling: { top_k: 5 } }), [without('top_k')], '0'],
    [
      'each alone somewhere, both nowhere',
      asks({ sampling: { seed: 1, n: 2 } }),
      [without('seed'), without('n')],
      'param_combination_not_supported seed and n',
    ],
    [
      'what a route refuses together',
      asks({ tools, responseFormat: schema }),
      [{ conflicts: [['tools', 'response_format']] }, {}],
      '1',
    ],
    [
      'refused together everywhere',
      asks({ tools, responseFormat: schema }),
      [{ conflicts: [['tools', 'response_format']] }],
      'param_combination_not_supported tools and response_format',
    ],
    [
      'a conflict with reasoning',
      asks({ sampling: { logprobs: true } }),
      [{ conflicts: [['logprobs', 'reasoning']] }],
      'param_combination_not_supported logprobs and reasoning',
    ],
    [
      'no conflict with reasoning off',
      asks({ sampling: { logprobs: true }, reasoning: off }),
      [{ conflicts: [['logprobs', 'reasoning']] }],
      '0',
    ],
    ['reasoning off', asks({ reasoning: off }), [cannotBeOff, {}], '1'],
    ['reasoning off nowhere', asks({ reasoning: off }), [cannotBeOff], 'reasoning_not_disableable reasoning'],
    ['no routes', asks(), [], 'no_capacity No capacity for demo/tiny right now.'],
  ])('%s', (_, asked, routes, expected) => {
    expect(eligible(asked, routes)).toBe(expected);
  });

  it('counts the optional parameters a route honours, and sends no others', () => {
    const model = modelOf([routeOf('a')]);
    const sampling = { temperature: 0.5, top_k: 5, min_p: 0.1, top_a: 0.2, n: 1 };
    const [candidate] = eligibleRoutes(asks({ sampling }), model, () => ({ ...all, ...without('min_p') }));
    expect(candidate).toMatchObject({ honoured: 2, target: { parameters: ['temperature', 'top_k'] } });
  });
});

const every = ['low', 'medium', 'high', 'max'] as const;
const full: ReasoningControl = { off: true, efforts: every, budget: true };
const switchOnly: ReasoningControl = { off: true, efforts: [], budget: false };
const fixed: ReasoningControl = { off: false, efforts: [], budget: false };

interface Row {
  readonly ask?: ReasoningAsk;
  readonly control?: ReasoningControl;
  readonly mode?: Model['reasoning']['mode'];
  readonly efforts?: Model['reasoning']['efforts'];
  readonly cap?: number;
  readonly becomes: unknown;
}

describe('what reasoning comes to on a route', () => {
  it.each<readonly [string, Row]>([
    ['omitted is the deepest', { becomes: { enabled: true, effort: 'max' } }],
    [
      'omitted is the deepest the route honours',
      { control: { ...full, efforts: ['low', 'high'] }, becomes: { enabled: true, effort: 'high' } },
    ],
    [
      'omitted is the deepest the model knows',
      { efforts: ['low', 'medium'], becomes: { enabled: true, effort: 'medium' } },
    ],
    ['omitted is on where there are no levels', { control: switchOnly, becomes: { enabled: true } }],
    ['a level is itself', { ask: { enabled: true, effort: 'medium' }, becomes: { enabled: true, effort: 'medium' } }],
    [
      'a level between two is the lower',
      {
        ask: { enabled: true, effort: 'medium' },
        control: { ...full, efforts: ['low', 'high'] },
        becomes: { enabled: true, effort: 'low' },
      },
    ],
    [
      'a level below all is the least',
      {
        ask: { enabled: true, effort: 'low' },
        control: { ...full, efforts: ['high', 'max'] },
        becomes: { enabled: true, effort: 'high' },
      },
    ],
    [
      'a level where there are none is on',
      { ask: { enabled: true, effort: 'low' }, control: switchOnly, becomes: { enabled: true } },
    ],
    ['off is off', { ask: off, becomes: off }],
    ['off where the model always reasons', { ask: off, mode: 'Always', becomes: 'impossible' }],
    ['off where the route cannot', { ask: off, control: fixed, becomes: 'impossible' }],
    [
      'a budget is native where there is one',
      { ask: { enabled: true, budgetTokens: 5000 }, becomes: { enabled: true, budgetTokens: 5000 } },
    ],
    [
      'a budget is a level elsewhere',
      {
        ask: { enabled: true, budgetTokens: 5000 },
        control: { ...full, budget: false },
        cap: 10_000,
        becomes: { enabled: true, effort: 'medium' },
      },
    ],
    ['nothing on a model that does not reason', { mode: 'None', efforts: [], becomes: undefined }],
    ['off on a model that does not reason', { ask: off, mode: 'None', efforts: [], becomes: undefined }],
  ])('%s', (_, { ask, control = full, mode = 'Optional', efforts = every, cap, becomes }) => {
    const model = modelOf([], { reasoning: { mode, efforts } });
    expect(settleReasoning(ask, { model, control, maxOutputTokens: cap })).toEqual(becomes);
  });

  it.each([
    [95, 100, 'max'],
    [90, 100, 'max'],
    [89, 100, 'high'],
    [50, 100, 'medium'],
    [20, 100, 'low'],
    [40_000, undefined, 'max'],
    [16_000, undefined, 'high'],
    [5000, undefined, 'medium'],
    [1024, undefined, 'low'],
  ])('a budget of %d with a cap of %s is %s', (budget, cap, effort) => {
    expect(effortOfBudget(budget, cap)).toBe(effort);
  });
});
