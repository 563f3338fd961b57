import { describe, expect, it } from 'vitest';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import type { ToolChoiceForm } from '../../core/capability.ts';
import type { EngineName } from '../../core/catalog.ts';
import { eligibleRoutes } from '../../routing/eligible.ts';
import { capabilitiesOf } from '../engines/engines.ts';
import { readRequest } from './read-request.ts';
import { writeRequest } from './write-request.ts';

const asked = {
  model: 'demo/tiny',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
  tool_choice: 'none',
};

/** What an engine is told of the tools, on a route of which the operator says what forms of `tool_choice` it takes. */
function toldOfTools(engine: EngineName, toolChoice: readonly ToolChoiceForm[] | undefined): unknown {
  const route = routeOf('a', { capabilities: toolChoice === undefined ? {} : { toolChoice } });
  const request = readRequest(asked);
  const model = modelOf([{ ...route, backend: { ...route.backend, engine } }]);
  const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
  if (candidate === undefined) throw new Error('no route');
  const { tools, tool_choice } = JSON.parse(writeRequest(request, candidate.target)) as Record<string, unknown>;
  return { tools, tool_choice };
}

const nothing = {};
const toCallNone = { tools: asked.tools, tool_choice: 'none' };

describe('a request that no tool be called', () => {
  it.each<readonly [string, EngineName, readonly ToolChoiceForm[] | undefined, object]>([
    ['says so to an engine that can be told', 'vllm', undefined, toCallNone],
    ['leaves the tools out for an engine that cannot', 'zai', undefined, nothing],
    ['leaves them out on a route that cannot, whatever its engine can', 'vllm', ['auto'], nothing],
    ['says so on a route that can be told, whatever its engine can', 'zai', ['auto', 'none'], toCallNone],
  ])('%s', (_, engine, toolChoice, expected) => {
    expect(toldOfTools(engine, toolChoice)).toEqual(expected);
  });
});
