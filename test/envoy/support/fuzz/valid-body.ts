import type { Chance } from '../../../support/chance.ts';

/** JSON that may be changed in place. */
export type Body = Record<string, unknown>;

const words = [
  'rivers',
  'weather',
  'Grüße',
  '日本語',
  '🧑‍🚀',
  'a\u0000b',
  '\u2028',
  '"quoted"',
  '\\',
  '</think>',
  'data: [DONE]',
  '',
];

const text = (chance: Chance): string =>
  Array.from({ length: chance.below(6) + 1 }, () => chance.pick(words)).join(' ');

const textParts = (chance: Chance): unknown =>
  Array.from({ length: chance.below(3) + 1 }, () => ({
    type: 'text',
    text: text(chance),
    cache_control: { type: 'x' },
  }));

const content = (chance: Chance): unknown => (chance.is(0.7) ? text(chance) : textParts(chance));

const image = (chance: Chance): unknown => ({
  type: 'image_url',
  image_url: chance.pick<unknown>([
    'https://example.com/a.png',
    { url: 'data:image/png;base64,iVBORw0KGgo=' },
    { url: 'https://example.com/a.png', detail: 'low' },
  ]),
});

const toolNames = ['get_weather', 'search.web', 'f'];

function replayedCall(chance: Chance): readonly unknown[] {
  const id = `call_${chance.below(1000)}`;
  const call = { id, type: 'function', function: { name: chance.pick(toolNames), arguments: '{"city":"Paris"}' } };
  return [
    {
      role: 'assistant',
      content: chance.pick([null, text(chance)]),
      tool_calls: [call],
      reasoning_content: text(chance),
    },
    { role: 'tool', tool_call_id: id, content: content(chance) },
  ];
}

function messages(chance: Chance, withImages: boolean): readonly unknown[] {
  const turns: unknown[] = chance.is(0.5)
    ? [{ role: chance.pick(['system', 'developer']), content: content(chance) }]
    : [];
  for (let turn = chance.below(3); turn > 0; turn -= 1) {
    turns.push({ role: 'user', content: content(chance), name: chance.pick([null, 'ann']) });
    if (chance.is(0.4)) turns.push(...replayedCall(chance));
    else turns.push({ role: 'assistant', content: content(chance), reasoning: text(chance) });
  }
  const last = withImages && chance.is(0.5) ? [{ type: 'text', text: text(chance) }, image(chance)] : content(chance);
  return [...turns, { role: 'user', content: last }];
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};

const tools = (chance: Chance): readonly unknown[] =>
  toolNames.slice(0, chance.below(3) + 1).map((name) => ({
    type: 'function',
    function: { name, description: text(chance), parameters: schema, strict: chance.pick([true, false, null]) },
    cache_control: { type: 'ephemeral' },
  }));

/** A good value of each optional field. */
const optional: Readonly<Record<string, (chance: Chance) => unknown>> = {
  stream: (chance) => chance.is(0.5),
  stream_options: (chance) => ({ include_usage: chance.is(0.5) }),
  max_tokens: (chance) => chance.below(2000) + 1,
  max_completion_tokens: (chance) => chance.below(2000) + 1,
  temperature: (chance) => chance.next() * 2,
  top_p: (chance) => chance.next(),
  n: (chance) => chance.below(3) + 1,
  stop: (chance) => chance.pick<unknown>(['END', ['a', 'b'], []]),
  seed: (chance) => chance.below(2 ** 31) - 2 ** 30,
  logprobs: () => true,
  logit_bias: () => ({ 50256: -100, 1: 0.5 }),
  frequency_penalty: (chance) => chance.next() * 4 - 2,
  presence_penalty: (chance) => chance.next() * 4 - 2,
  parallel_tool_calls: (chance) => chance.is(0.5),
  top_k: (chance) => chance.below(100) - 1,
  min_p: (chance) => chance.next(),
  repetition_penalty: (chance) => chance.next() + 0.5,
  top_a: (chance) => chance.next(),
  reasoning_effort: (chance) => chance.pick(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
  reasoning: (chance) => chance.pick<unknown>([{ enabled: false }, { effort: 'low' }, { max_tokens: 500 }, {}]),
  thinking: (chance) => chance.pick<unknown>([{ type: 'disabled' }, { type: 'enabled', budget_tokens: 2048 }]),
  thinking_budget: (chance) => chance.below(4000),
  enable_thinking: (chance) => chance.is(0.5),
  chat_template_kwargs: (chance) => ({ enable_thinking: chance.is(0.5), other: 1 }),
  tools,
  tool_choice: (chance) => chance.pick(['auto', 'none']),
  response_format: (chance) =>
    chance.pick<unknown>([
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'city', schema, strict: true } },
    ]),
  user: text,
  safety_identifier: text,
  provider: () => ({ order: ['a'] }),
  transforms: () => ['middle-out'],
  metadata: () => ({ any: 'thing' }),
};

export const optionalFields = Object.keys(optional);

/** A body that some model of the list may serve: few fields as a rule, now and then many. */
export function validBody(chance: Chance, models: readonly string[]): Body {
  const model = chance.pick(models);
  const body: Body = { model, messages: messages(chance, model.includes('image')) };
  const share = chance.pick([0.05, 0.1, 0.3]);
  for (const [name, value] of Object.entries(optional)) if (chance.is(share)) body[name] = value(chance);
  // Its own through and through: what is shared would carry one body's changes into the next.
  return structuredClone(body);
}
