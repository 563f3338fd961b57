import { describe, expect, it } from 'vitest';
import { modelOf, routeOf } from '../../test/support/route-of.ts';
import type { Capabilities } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { Failure } from '../core/failure.ts';
import { vllm } from '../engines/self-hosted.ts';
import { eligibleRoutes } from './eligible.ts';
import type { Asked } from './needs.ts';

const all: Capabilities = { ...vllm.capabilities, conflicts: [] };
const tool = { name: 'f' };
const asks = (more: Partial<Asked> = {}): Asked => ({
  ...{ modelId: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
  ...more,
});

/** Names of the routes that can serve it, or the code and the field of the refusal. */
function judge(asked: Asked, routes: readonly Partial<Capabilities>[], mode: 'Optional' | 'None' = 'Optional'): string {
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
    expect(judge(asked, routes)).toBe(expected);
  });

  it('counts the optional parameters a route honours, and sends no others', () => {
    const model = modelOf([routeOf('a')]);
    const sampling = { temperature: 0.5, top_k: 5, min_p: 0.1, top_a: 0.2, n: 1 };
    const [candidate] = eligibleRoutes(asks({ sampling }), model, () => ({ ...all, ...without('min_p') }));
    expect(candidate).toMatchObject({ honoured: 2, target: { parameters: ['temperature', 'top_k'] } });
  });
});
