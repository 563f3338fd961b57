import { beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { chatEngineNames } from '../../src/core/engine-name.ts';
import { demoBackend, demoModel, demoRoute, manifestOf } from './support/catalog-manifest.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { putTogether } from './support/put-together.ts';
import { refusalOf } from './support/refusal.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Json = Readonly<Record<string, unknown>>;

const fixed = { reasoning: { off: false } };

beforeEach(() => {
  engine.reset();
  second.reset();
});

const user = { role: 'user', content: `${canary} Why is the sky blue?` };
const send = (model: string, fields: Json): Promise<Response> =>
  weir.chat({ model: `test/${model}`, messages: [user], ...fields });

const fieldsOfReasoning = [
  ...['reasoning_effort', 'reasoning', 'thinking', 'thinking_budget', 'thinking_token_budget', 'enable_thinking'],
  'chat_template_kwargs',
];

/** What the engine was told about reasoning, streamed or not, which must be the same. */
async function told(model: string, fields: Json = {}): Promise<Json> {
  const bodies: Json[] = [];
  for (const stream of [false, true]) {
    const response = await send(model, { ...fields, stream });
    expect(response.status, await response.text()).toBe(200);
    const body = engine.requests().at(-1)?.body as Json;
    bodies.push(Object.fromEntries(Object.entries(body).filter(([name]) => fieldsOfReasoning.includes(name))));
  }
  const [json = {}, streamed] = bodies;
  expect(streamed).toEqual(json);
  return json;
}

const template = (enabled: boolean): Json => ({
  chat_template_kwargs: { enable_thinking: enabled, thinking: enabled },
});
const thinking = (effort?: string): Json => ({
  thinking: { type: 'enabled' },
  ...(effort === undefined ? {} : { reasoning_effort: effort }),
});
const off = { thinking: { type: 'disabled' } };
const effort = (reasoning_effort: string): Json => ({ reasoning_effort });

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
/** Served beside the other, to see which of two routes was taken. */
const second = await forFile(startProgrammableEngine({ name: 'beta' }));
const one = (name: string, capabilities: Json = {}) => [demoRoute(name, capabilities)];
const catalog = manifestOf(
  ...chatEngineNames.map((name) => demoBackend(name, engine, name)),
  demoBackend('second', second, 'vllm'),
  ...chatEngineNames.map((name) => demoModel(name, one(name))),
  demoModel('always', one('vllm'), { reasoning: { mode: 'Always', efforts: ['low', 'high'] } }),
  demoModel('never', one('vllm'), { reasoning: { mode: 'None' } }),
  demoModel('switch', one('vllm'), { reasoning: { mode: 'Optional' } }),
  demoModel('shallow', one('vllm'), { reasoning: { mode: 'Optional', efforts: ['low', 'medium'] } }),
  demoModel('fixed', one('vllm', fixed)),
  demoModel('two', [demoRoute('vllm', fixed, 100_000), demoRoute('second', {}, 1)]),
  demoModel('tagged', one('vllm', { inlineReasoning: { tags: ['think'] } })),
  demoModel('told', one('deepseek', { reasoning: { efforts: ['medium'], budget: false } })),
);
const weir = await forFile(
  startWeir({ engines: [engine, second], manifests: { 'catalog.yaml': catalog }, unlimited: true }),
);
const refused = 'refused';

/** One line per engine: what it is told when the caller says nothing, and at each level. Models know every level. */
const levels: Readonly<Record<(typeof chatEngineNames)[number], readonly (Json | typeof refused)[]>> = {
  //          omitted, none, low, medium, high, max
  openai: [effort('high'), effort('none'), effort('low'), effort('medium'), effort('high'), effort('high')],
  ollama: [effort('max'), effort('none'), effort('low'), effort('medium'), effort('high'), effort('max')],
  fireworks: [effort('high'), effort('none'), effort('low'), effort('medium'), effort('high'), effort('high')],
  vllm: [
    { ...template(true), ...effort('max') },
    template(false),
    ...['low', 'medium', 'high', 'max'].map((level) => ({ ...template(true), ...effort(level) })),
  ],
  sglang: [
    { ...template(true), ...effort('max') },
    template(false),
    ...['low', 'medium', 'high', 'max'].map((level) => ({ ...template(true), ...effort(level) })),
  ],
  llamacpp: [
    { ...template(true), ...effort('max') },
    template(false),
    ...['low', 'medium', 'high', 'max'].map((level) => ({ ...template(true), ...effort(level) })),
  ],
  deepseek: [thinking('max'), off, thinking('low'), thinking('low'), thinking('high'), thinking('max')],
  moonshot: [thinking('max'), off, thinking('low'), thinking('low'), thinking('high'), thinking('max')],
  zai: [thinking('max'), off, thinking('low'), thinking('low'), thinking('high'), thinking('max')],
  dashscope: [
    { enable_thinking: true },
    { enable_thinking: false },
    ...Array.from({ length: 4 }, () => ({ enable_thinking: true })),
  ],
  together: [
    { reasoning: { enabled: true }, ...effort('high') },
    { reasoning: { enabled: false } },
    ...['low', 'medium', 'high', 'high'].map((level) => ({ reasoning: { enabled: true }, ...effort(level) })),
  ],
  tgi: [{}, refused, {}, {}, {}, {}],
};

describe.each(chatEngineNames)('%s', (name) => {
  test('is told each level in its own words, as deep as it provably goes; nothing said is the deepest', async () => {
    const asks = [{}, ...['none', 'low', 'medium', 'high', 'max'].map(effort)];
    for (const [index, ask] of asks.entries()) {
      const expected = levels[name][index] ?? {};
      if (expected === refused) {
        expect((await refusalOf(await send(name, ask))).code).toBe('reasoning_not_disableable');
      } else expect(await told(name, ask), JSON.stringify(ask)).toEqual(expected);
    }
  });

  test('is told the same for xhigh as for max', async () => {
    expect(await told(name, effort('xhigh'))).toEqual(await told(name, effort('max')));
  });
});

describe('a budget in tokens', () => {
  const asked = { reasoning: { max_tokens: 5000 }, max_tokens: 10_000 };
  test.each<readonly [model: string, fields: Json, expected: Json]>([
    ['vllm', asked, { ...template(true), thinking_token_budget: 5000 }],
    ['dashscope', asked, { enable_thinking: true, thinking_budget: 5000 }],
    ['fireworks', asked, { thinking: { type: 'enabled', budget_tokens: 5000 } }],
    ['fireworks', { reasoning: { max_tokens: 100 } }, { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    // Elsewhere it is the level that such a share of the cap stands for, or such a number where there is no cap.
    ['ollama', asked, effort('medium')],
    ['ollama', { ...asked, reasoning: { max_tokens: 9500 } }, effort('max')],
    ['ollama', { ...asked, reasoning: { max_tokens: 1000 } }, effort('low')],
    ['ollama', { thinking_budget: 20_000 }, effort('high')],
    ['deepseek', asked, thinking('low')],
    ['tgi', asked, {}],
  ])('to %s: %j is %j', async (model, fields, expected) => {
    expect(await told(model, fields)).toEqual(expected);
  });

  test.each([{ reasoning: { max_tokens: 0 } }, { thinking_budget: 0 }])('of nothing is off: %j', async (fields) => {
    expect(await told('vllm', fields)).toEqual(template(false));
  });
});

describe('every spelling means the same', () => {
  const none = template(false);
  const deepest = { ...template(true), ...effort('max') };
  const low = { ...template(true), ...effort('low') };
  const budget = { ...template(true), thinking_token_budget: 2000 };
  test.each<readonly [Json, Json]>([
    [{ reasoning_effort: 'none' }, none],
    [{ enable_thinking: false }, none],
    [{ thinking: { type: 'disabled' } }, none],
    [{ chat_template_kwargs: { enable_thinking: false } }, none],
    [{ chat_template_kwargs: { thinking: false } }, none],
    [{ reasoning: { enabled: false } }, none],
    [{ reasoning: { effort: 'none' } }, none],
    [{ enable_thinking: true }, deepest],
    [{ thinking: { type: 'enabled' } }, deepest],
    [{ thinking: { type: 'adaptive' } }, deepest],
    [{ chat_template_kwargs: { enable_thinking: true } }, deepest],
    [{ reasoning: { enabled: true } }, deepest],
    [{ reasoning: { effort: 'xhigh' } }, deepest],
    [{ reasoning: {} }, deepest],
    [{ chat_template_kwargs: { custom: 'x' } }, deepest],
    [{ reasoning_effort: 'minimal' }, low],
    [{ reasoning: { effort: 'low' } }, low],
    [{ reasoning: { enabled: true, effort: 'low' } }, low],
    [{ reasoning: { max_tokens: 2000 } }, budget],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, budget],
    [{ thinking_budget: 2000 }, budget],
    // What wins when several are sent.
    [{ reasoning_effort: 'low', reasoning: { enabled: false }, enable_thinking: false }, low],
    [{ reasoning_effort: 'none', thinking: { type: 'enabled' } }, none],
    [{ reasoning: { effort: 'low' }, thinking: { type: 'disabled' } }, low],
    [{ thinking: { type: 'disabled' }, thinking_budget: 2000 }, none],
    [{ thinking_budget: 2000, enable_thinking: false }, budget],
    [{ enable_thinking: false, chat_template_kwargs: { enable_thinking: true } }, none],
    [{ reasoning: { enabled: false, max_tokens: 2000, effort: 'low' } }, none],
    [{ reasoning: { max_tokens: 2000, effort: 'low' } }, budget],
    [{ reasoning_effort: null, enable_thinking: false }, none],
    [{ reasoning: {}, enable_thinking: false }, none],
  ])('%j is %j', async (fields, expected) => {
    expect(await told('vllm', fields)).toEqual(expected);
  });
});

describe('what the model and the operator know', () => {
  test.each<readonly [model: string, fields: Json, expected: Json]>([
    ['always', {}, { ...template(true), ...effort('high') }],
    ['always', effort('medium'), { ...template(true), ...effort('low') }],
    ['shallow', {}, { ...template(true), ...effort('medium') }],
    ['shallow', effort('max'), { ...template(true), ...effort('medium') }],
    ['switch', effort('low'), template(true)],
    ['never', {}, {}],
    ['never', effort('high'), {}],
    ['never', effort('none'), {}],
    ['told', {}, thinking('medium')],
    ['told', effort('low'), thinking('medium')],
  ])('test/%s, asked for %j, is told %j', async (model, fields, expected) => {
    expect(await told(model, fields)).toEqual(expected);
  });

  test.each(['always', 'fixed', 'tgi'])('test/%s cannot be kept from reasoning', async (model) => {
    for (const fields of [
      effort('none'),
      { enable_thinking: false },
      { reasoning: { enabled: false }, stream: true },
    ]) {
      const refusal = await refusalOf(await send(model, fields));
      expect(refusal).toMatchObject({ code: 'reasoning_not_disableable', field: 'reasoning_effort' });
    }
    expect(engine.requests()).toEqual([]);
  });

  test('off goes to the route that can be told so, however light it is', async () => {
    for (let round = 0; round < 10; round += 1) expect((await send('two', effort('none'))).status).toBe(200);
    expect([engine.requests().length, second.requests().length]).toEqual([0, 10]);
    expect((await send('two', effort('low'))).status).toBe(200);
    expect(engine.requests().length).toBe(1);
  });
});

describe('the trace', () => {
  interface Answer {
    readonly choices: readonly { readonly message: Json }[];
    readonly usage: Json;
  }
  const whole = async (fields: Json, model = 'vllm'): Promise<Answer> =>
    (await (await send(model, fields)).json()) as Answer;
  const streamed = async (fields: Json, model = 'vllm'): Promise<Answer> => {
    const response = await send(model, { ...fields, stream: true, stream_options: { include_usage: true } });
    // Both fields of every delta are compared there.
    return putTogether(await response.text()) as unknown as Answer;
  };

  test.each(['reasoning_content', 'reasoning', 'both', 'both-one-null'] as const)(
    'reported in %s stands in both fields, the same in one piece and in many',
    async (reasoningField) => {
      engine.set({ reasoningField });
      for (const { choices } of [await whole({}), await streamed({})]) {
        const { reasoning, reasoning_content: trace, content } = choices[0]?.message ?? {};
        expect(reasoning).toMatch(/^Let me think about/);
        expect(trace).toBe(reasoning);
        expect(content).toMatch(/^You said/);
      }
    },
  );

  test.each(['tagged', 'tgi'])('that stands between tags in the text of test/%s is taken out of it', async (model) => {
    engine.set({ reasoningField: 'think' });
    for (const { choices } of [await whole({}, model), await streamed({}, model)]) {
      const { reasoning, reasoning_content: trace, content } = choices[0]?.message ?? {};
      expect(reasoning).toMatch(/^Let me think about/);
      expect(trace).toBe(reasoning);
      expect(content).toMatch(/^\s*You said/);
    }
  });

  test('is in every delta twice, word for word', async () => {
    engine.set({ tokenDelayMs: 2 });
    const text = await (await send('vllm', { stream: true })).text();
    const deltas = Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, json = '']) => JSON.parse(json) as Answer)
      .flatMap(({ choices }) => choices as unknown as readonly { readonly delta: Json }[])
      .map(({ delta }) => delta)
      .filter((delta) => 'reasoning' in delta || 'reasoning_content' in delta);
    expect(deltas.length).toBeGreaterThan(3);
    for (const delta of deltas) expect(delta['reasoning']).toBe(delta['reasoning_content']);
  });

  test('is absent when reasoning is off', async () => {
    for (const { choices } of [await whole(effort('none')), await streamed(effort('none'))]) {
      expect(choices[0]?.message).not.toHaveProperty('reasoning');
      expect(choices[0]?.message).not.toHaveProperty('reasoning_content');
    }
  });

  test.each(['honest', 'reasoning-excluded', 'reasoning-top-level'] as const)(
    'is billed as output, whatever shape the engine reports it in: %s',
    async (usage) => {
      engine.set({ usage });
      for (const run of [whole, streamed]) {
        const thought = (await run(effort('high'))).usage;
        const plain = (await run(effort('none'))).usage;
        const { reasoning_tokens: reasoning } = thought['completion_tokens_details'] as Json;
        expect(Number(reasoning)).toBeGreaterThan(0);
        expect(Number(thought['completion_tokens']) - Number(plain['completion_tokens'])).toBe(reasoning);
        expect(thought['total_tokens']).toBe(Number(thought['prompt_tokens']) + Number(thought['completion_tokens']));
      }
      await weir.settled();
      const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
      for (const row of (await weir.ledger()).slice(0, 4)) expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
    },
  );
});
