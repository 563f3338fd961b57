import { describe, expect, it } from 'vitest';
import { modelOf, routeOf } from '../../../../test/support/route-of.ts';
import type { CapabilityOverrides } from '../../../core/catalog.ts';
import type { EngineName } from '../../../core/engine-name.ts';
import { eligibleRoutes } from '../../routing/eligible.ts';
import { capabilitiesOf } from '../../engines/engines.ts';
import { readRequest } from '../chat/read-request.ts';
import { writeRequest } from './write-request.ts';

const asked = {
  model: 'demo/tiny',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
  tool_choice: 'none',
};

/** The tool fields of an engine's body, for a route whose capabilities the operator has set. */
function toldOfTools(engine: EngineName, capabilities: CapabilityOverrides): unknown {
  const route = routeOf('a', { capabilities });
  const request = readRequest({ ...asked, stream: true });
  const model = modelOf([{ ...route, backend: { ...route.backend, engine } }]);
  const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
  if (candidate === undefined) throw new Error('no route');
  const told = JSON.parse(writeRequest(request, candidate.target)) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(told).filter(([name]) => name.startsWith('tool')));
}

const nothing = {};
const toCallNone = { tools: asked.tools, tool_choice: 'none' };

describe('a request that no tool be called', () => {
  it.each<readonly [string, EngineName, CapabilityOverrides, object]>([
    ['tells an engine that can be told', 'vllm', {}, toCallNone],
    ['leaves the tools out for an engine that cannot', 'zai', {}, nothing],
    ['leaves them out on a route that cannot, whatever its engine can', 'vllm', { toolChoice: ['auto'] }, nothing],
    ['leaves them out on a route that takes no tools', 'vllm', { tools: false }, nothing],
    ['tells a route that can be told', 'zai', { toolChoice: ['auto', 'none'] }, { ...toCallNone, tool_stream: true }],
  ])('%s', (_, engine, capabilities, expected) => {
    expect(toldOfTools(engine, capabilities)).toEqual(expected);
  });
});

describe('a prefix cache', () => {
  const bodyFor = (cacheSalt: string | undefined): unknown => {
    const route = routeOf('a');
    const request = readRequest({ ...asked, cache_salt: 'the caller’s' });
    const [candidate] = eligibleRoutes(request, modelOf([route]), capabilitiesOf);
    if (candidate === undefined) throw new Error('no route');
    return JSON.parse(writeRequest(request, { ...candidate.target, cacheSalt }));
  };

  it('is divided by the gateway’s salt, never by the caller’s', () => {
    expect(bodyFor('salt')).toMatchObject({ cache_salt: 'salt' });
    expect(bodyFor(undefined)).not.toHaveProperty('cache_salt');
  });
});
