import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Chance, chanceFrom } from '../support/chance.ts';
import { numberIds } from './support/fault-sweep/number-ids.ts';
import { readMessages } from './support/fault-sweep/read-messages.ts';
import { type PutTogether, putTogether } from './support/put-together.ts';
import { startWeir, type Weir } from '../support/weir.ts';

vi.setConfig({ testTimeout: 240_000 });

let engine: ProgrammableEngine;
let weir: Weir;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha' });
  weir = await startWeir({ engines: [engine], unlimited: true });
});
beforeEach(() => engine.reset());
afterAll(async () => {
  await weir.close();
  await engine.close();
});

type Json = Readonly<Record<string, unknown>>;

/** One question in both formats, and how the engine answers it. */
interface Question {
  readonly chat: Json;
  readonly messages: Json;
  readonly behaviour: BehaviourInput;
}

const schema = (field: string): Json => ({
  type: 'object',
  properties: { [field]: { type: 'string' } },
  required: [field],
});
const toolNames = ['get_weather', 'get_time', 'find'];

function randomQuestion(chance: Chance): Question {
  const isTrue = (): boolean => chance.below(2) === 0;
  const pick = <T>(...values: readonly T[]): T => values[chance.below(values.length)] as T;
  const cap = pick(40, 300, 4096);
  const chat: Record<string, unknown> = { model: 'test/model', max_tokens: cap };
  const messages: Record<string, unknown> = { model: 'test/model', max_tokens: cap };
  const turns: { readonly chat: Json[]; readonly messages: Json[] } = { chat: [], messages: [] };
  const say = (text: string): void => {
    turns.chat.push({ role: 'user', content: text });
    turns.messages.push({
      role: 'user',
      content: isTrue() ? text : [{ type: 'text', text, cache_control: { type: 'ephemeral' } }],
    });
  };
  if (isTrue()) {
    turns.chat.push({ role: 'system', content: 'Be brief, “please”.' });
    messages['system'] = isTrue()
      ? 'Be brief, “please”.'
      : [
          { type: 'text', text: 'Be brief, ' },
          { type: 'text', text: '“please”.' },
        ];
  }
  say(`Question ${chance.below(1000)} of 東京 👩‍👩‍👧‍👦?`);
  const hasTools = isTrue();
  if (hasTools) {
    chat['tools'] = toolNames.map((name) => ({
      type: 'function',
      function: { name, description: `Does ${name}.`, parameters: schema('city') },
    }));
    messages['tools'] = toolNames.map((name) => ({ name, description: `Does ${name}.`, input_schema: schema('city') }));
    for (let turn = chance.below(3); turn > 0; turn -= 1) {
      const ids = Array.from({ length: 1 + chance.below(2) }, (_, at) => `id_${turn}_${at}`);
      const [thought, text] = [isTrue() ? `Thought ${turn}.` : '', isTrue() ? `Said ${turn}.` : ''];
      const args = { city: `Zoë "${turn}" \n` };
      turns.chat.push({
        ...{
          role: 'assistant',
          ...(text === '' ? {} : { content: text }),
          ...(thought === '' ? {} : { reasoning_content: thought }),
        },
        tool_calls: ids.map((id) => ({
          id,
          type: 'function',
          function: { name: 'find', arguments: JSON.stringify(args) },
        })),
      });
      turns.messages.push({
        role: 'assistant',
        content: [
          ...(thought === '' ? [] : [{ type: 'thinking', thinking: thought, signature: 'x' }]),
          ...(text === '' ? [] : [{ type: 'text', text }]),
          ...ids.map((id) => ({ type: 'tool_use', id, name: 'find', input: args })),
        ],
      });
      turns.chat.push(...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: `Found ${id}.` })));
      turns.messages.push({
        role: 'user',
        content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: `Found ${id}.` })),
      });
    }
    const choice = pick<readonly [unknown, unknown] | undefined>(
      undefined,
      ['required', { type: 'any' }],
      ['auto', { type: 'auto' }],
      ['none', { type: 'none' }],
    );
    if (choice !== undefined) [chat['tool_choice'], messages['tool_choice']] = choice;
  }
  const reasoning = pick<readonly [unknown, Json] | undefined>(
    ...[undefined, ['none', { thinking: { type: 'disabled' } }] as const],
    ['low', { output_config: { effort: 'low' } }],
    ['high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  );
  if (reasoning !== undefined) {
    [chat['reasoning_effort']] = reasoning;
    Object.assign(messages, reasoning[1]);
  }
  if (!hasTools && isTrue()) {
    chat['response_format'] = {
      type: 'json_schema',
      json_schema: { name: 'output', schema: schema('name'), strict: true },
    };
    messages['output_config'] = {
      ...(messages['output_config'] as Json | undefined),
      format: { type: 'json_schema', schema: schema('name') },
    };
  }
  if (isTrue()) chat['temperature'] = messages['temperature'] = 0.5;
  if (isTrue()) chat['top_k'] = messages['top_k'] = 20;
  if (isTrue()) chat['stop'] = messages['stop_sequences'] = ['river', 'e f'];
  if (isTrue()) chat['stream'] = messages['stream'] = true;
  if (chat['stream'] === true) chat['stream_options'] = { include_usage: true };
  return {
    chat: { ...chat, messages: turns.chat },
    messages: { ...messages, messages: turns.messages },
    behaviour: {
      ...{
        words: chance.below(60),
        reasoningWords: chance.below(30),
        cachedTokens: chance.below(5),
        unicode: isTrue(),
      },
      ...{
        reasoningChunks: pick('separate', 'mixed'),
        deltaTokens: 1 + chance.below(4),
        eventsPerWrite: 1 + chance.below(6),
      },
      usageWhere: pick('asked', 'every-chunk', 'finish-chunk'),
      ...(hasTools && isTrue() ? { callTools: [pick(...toolNames), pick(...toolNames)], toolPreamble: isTrue() } : {}),
      ...(isTrue() ? { toolQuirk: [pick('interleaved', 'whole-call', 'id-late', 'index-missing')] } : {}),
      ...(chance.below(8) === 0 ? { refusal: pick('field', 'content-filter') } : {}),
    },
  };
}

/** What both say alike: text, reasoning, calls, how it ended, tokens, cost. */
function alike({ choices: [choice], usage, model }: PutTogether): unknown {
  const { content, refusal, reasoning = '', tool_calls: calls = [] } = choice?.message ?? {};
  return numberIds({
    ...{ model, text: `${content ?? ''}${refusal ?? ''}`, reasoning, finish: choice?.finish_reason },
    calls: calls.map(({ id, function: { name, arguments: text } }) => {
      try {
        return { id: id.replace(/^call_/, 'toolu_'), name, arguments: JSON.parse(text) as unknown };
      } catch {
        return { id: id.replace(/^call_/, 'toolu_'), name, arguments: 'cut' };
      }
    }),
    prompt: usage['prompt_tokens'],
    completion: usage['completion_tokens'],
    cost: usage['cost'],
  });
}

const seed = 20_260_822;

test('chat and messages, asked the same of the same engine, ask it the same and answer the same', async () => {
  const chance = chanceFrom(seed);
  let answers = 0;
  for (let run = 0; run < 150; run += 1) {
    const { chat, messages, behaviour } = randomQuestion(chance);
    const shown = `seed ${seed}, question ${run}: ${JSON.stringify({ messages, behaviour })}`;
    engine.set(behaviour);
    const chatted = await weir.chat(chat);
    const answered = await weir.messages(messages);
    const [chatText, text] = [await chatted.text(), await answered.text()];
    expect(answered.status, shown).toBe(chatted.status);
    if (answered.status !== 200) {
      // Tools that the engine calls although it was told not to are no answer on either surface.
      expect([answered.status, JSON.parse(text)], shown).toEqual([
        502,
        { type: 'error', ...(JSON.parse(chatText) as object) },
      ]);
      continue;
    }
    answers += 1;
    const stream = chat['stream'] === true;
    const [one, other] = engine
      .requests()
      .slice(-2)
      .map(({ body }) => body);
    expect(other, shown).toEqual(one);
    const cut = (answer: unknown): unknown =>
      JSON.parse(JSON.stringify(answer).replaceAll(/"arguments":(?:"cut"|\{\})/g, '"arguments":0'));
    const expected = alike(stream ? putTogether(chatText) : (JSON.parse(chatText) as PutTogether));
    expect(cut(alike(readMessages(text, stream))), shown).toEqual(cut(expected));
  }
  expect(answers).toBeGreaterThan(120);
  await weir.settled();
  const rows = await weir.ledger();
  const costs = (surface: string): readonly unknown[] =>
    rows.filter((row) => row['surface'] === surface).map(({ cost }) => cost);
  expect(costs('messages')).toEqual(costs('chat'));
});
