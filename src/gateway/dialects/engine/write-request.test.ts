import { describe, expect, it } from 'vitest';
import { modelOf, routeOf } from '../../../../test/support/route-of.ts';
import type { OwnField } from '../../../core/capability.ts';
import type { Backend, CapabilityOverrides } from '../../../core/catalog.ts';
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

describe('what the operator sets on a Backend', () => {
  const defaults = { sampling: { temperature: 0.6, top_k: 20 }, maxOutputTokens: 4096 };
  const bounds = { sampling: { temperature: 1 }, maxOutputTokens: 8192 };
  const low = { enabled: true, effort: 'low' } as const;
  const high = { enabled: true, effort: 'high' } as const;
  const off = { enabled: false } as const;

  const sentBy = (backend: Partial<Backend>, said: object, capabilities: CapabilityOverrides = {}): object => {
    const route = routeOf('a', { capabilities });
    const request = readRequest({ model: 'demo/tiny', messages: asked.messages, ...said });
    const reasoning = { mode: 'Optional', efforts: ['low', 'high'] } as const;
    const model = modelOf([{ ...route, backend: { ...route.backend, ...backend } }], { reasoning });
    const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
    if (candidate === undefined) throw new Error('no route');
    const body = JSON.parse(writeRequest(request, candidate.target)) as Record<string, unknown>;
    const { temperature, top_k, max_tokens, reasoning_effort, chat_template_kwargs: switches } = body;
    const thinks = (switches as { readonly enable_thinking: boolean }).enable_thinking;
    return JSON.parse(JSON.stringify({ temperature, top_k, max_tokens, reasoning_effort, thinks })) as object;
  };
  const deepest = { reasoning_effort: 'high', thinks: true };

  it.each<readonly [string, Partial<Backend>, object, object]>([
    ['nothing where nothing is set', {}, {}, deepest],
    ['the defaults', { defaults }, {}, { ...deepest, temperature: 0.6, top_k: 20, max_tokens: 4096 }],
    [
      'what the caller said in their place',
      { defaults },
      { temperature: 0, top_k: 1, max_tokens: 9 },
      { ...deepest, temperature: 0, top_k: 1, max_tokens: 9 },
    ],
    [
      'a cap above the default, if the caller says it',
      { defaults },
      { max_tokens: 5000, temperature: 2 },
      {
        ...{ ...deepest, temperature: 2, top_k: 20, max_tokens: 5000 },
      },
    ],
    [
      'the bounds',
      { bounds },
      { temperature: 1.5, max_tokens: 9000 },
      { ...deepest, temperature: 1, max_tokens: 8192 },
    ],
    [
      'less than the bounds',
      { bounds },
      { temperature: 0.5, max_tokens: 9 },
      { ...deepest, temperature: 0.5, max_tokens: 9 },
    ],
    ['the bound of the cap, where none was sent', { bounds }, {}, { ...deepest, max_tokens: 8192 }],
    [
      'the lower of default and bound',
      { defaults: { sampling: { temperature: 2 }, maxOutputTokens: 9000 }, bounds },
      {},
      { ...deepest, temperature: 1, max_tokens: 8192 },
    ],
    [
      'a default of reasoning',
      { defaults: { sampling: {}, reasoning: low } },
      {},
      { reasoning_effort: 'low', thinks: true },
    ],
    ['no reasoning by default', { defaults: { sampling: {}, reasoning: off } }, {}, { thinks: false }],
    [
      'the reasoning that was asked for',
      { defaults: { sampling: {}, reasoning: off } },
      { reasoning_effort: 'high' },
      deepest,
    ],
    [
      'a bound of reasoning',
      { bounds: { sampling: {}, reasoning: low } },
      { reasoning_effort: 'high' },
      {
        ...{ reasoning_effort: 'low', thinks: true },
      },
    ],
    [
      'a bound of reasoning for one who did not ask',
      { bounds: { sampling: {}, reasoning: low } },
      {},
      {
        ...{ reasoning_effort: 'low', thinks: true },
      },
    ],
    [
      'less than a bound of reasoning',
      { bounds: { sampling: {}, reasoning: high } },
      { reasoning_effort: 'none' },
      { thinks: false },
    ],
  ])('sends %s', (_, backend, said, expected) => {
    expect(sentBy(backend, said)).toEqual(expected);
  });

  it('keeps a route that cannot do the default of reasoning', () => {
    const capabilities = { reasoning: { off: false } };
    expect(sentBy({ defaults: { sampling: {}, reasoning: off } }, {}, capabilities)).toEqual(deepest);
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

describe('a route that does not know a field that the service chose', () => {
  const turns = [
    ...asked.messages,
    { role: 'assistant', content: 'a', reasoning_content: 'Hm.' },
    { role: 'user', content: 'go on' },
  ];
  /** The fields of a body that differ if the route does not know some of the service's own. */
  function changed(engine: EngineName, field: OwnField, more: object = {}): readonly [before: object, after: object] {
    const route = routeOf('a');
    const { tool_choice: _, ...plain } = asked;
    const request = readRequest({ ...plain, messages: turns, stream: true, max_tokens: 9, ...more });
    const model = modelOf([{ ...route, backend: { ...route.backend, engine } }]);
    const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
    if (candidate === undefined) throw new Error('no route');
    const { target } = candidate;
    const usual = { ...target, reasoning: target.reasoning ?? { enabled: true, effort: 'low' as const } };
    const bodies = [undefined, [field]].map((unknownFields) => writeRequest(request, { ...usual, unknownFields }));
    const [before = [], after = []] = bodies.map((body) => Object.entries(JSON.parse(body) as object));
    const written = (some: readonly [string, unknown][]) => new Set(some.map((one) => JSON.stringify(one)));
    const only = (some: readonly [string, unknown][], others: readonly [string, unknown][]) =>
      Object.fromEntries(some.filter((one) => !written(others).has(JSON.stringify(one))));
    return [only(before, after), only(after, before)];
  }

  it.each<readonly [EngineName, OwnField, object, object]>([
    ['openai', 'cap', { max_completion_tokens: 9 }, { max_tokens: 9 }],
    ['moonshot', 'cap', { max_completion_tokens: 9 }, { max_tokens: 9 }],
    ['vllm', 'cap', { max_tokens: 9 }, { max_completion_tokens: 9 }],
    ['openai', 'streamUsage', { stream_options: { include_usage: true } }, {}],
    ['sglang', 'streamUsage', { stream_options: { include_usage: true, continuous_usage_stats: true } }, {}],
    [
      'vllm',
      'runningUsage',
      { stream_options: { include_usage: true, continuous_usage_stats: true } },
      { stream_options: { include_usage: true } },
    ],
    ['openai', 'runningUsage', {}, {}],
    ['zai', 'toolStream', { tool_stream: true }, {}],
    ['openai', 'toolStream', {}, {}],
    ['openai', 'reasoning', { reasoning_effort: 'low' }, {}],
    [
      'deepseek',
      'trace',
      { messages: [turns[0], turns[1], turns[2]] },
      { messages: [turns[0], { role: 'assistant', content: 'a' }, turns[2]] },
    ],
  ])('%s: %s', (engine, field, before, after) => {
    expect(changed(engine, field)).toEqual([before, after]);
  });

  it('gets what the caller asks for', () => {
    expect(changed('openai', 'reasoning', { reasoning_effort: 'low' })).toEqual([{}, {}]);
  });
});
