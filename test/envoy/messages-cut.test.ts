import { beforeEach, expect, test } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { byteCuts } from './support/byte-cuts.ts';
import { numberIds } from './support/number-ids.ts';
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const weir = await forFile(startWeir({ engines: [engine], unlimited: true }));
beforeEach(() => engine.reset());

const ask = (content: string, fields: object = {}): object => ({
  ...{ model: 'test/model', max_tokens: 4096, stream: true, messages: [{ role: 'user', content }] },
  ...fields,
});
const tool = (name: string, field: string) => ({
  ...{ name, input_schema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] } },
});

/** What an engine can say: the request, and what it is told besides. The same cached tokens each time, so that the cost is the same. */
const answers: Readonly<Record<string, readonly [object, BehaviourInput]>> = {
  text: [ask('Say hello.', { thinking: { type: 'disabled' } }), {}],
  'thinking and text': [ask('Why is the sky blue?'), { reasoningChunks: 'mixed' }],
  'tools side by side': [
    ask('get_weather of Ulm “now”, then get_time of \\ Rome', {
      tools: [tool('get_weather', 'city'), tool('get_time', 'place')],
      tool_choice: { type: 'any' },
    }),
    { callTools: ['get_weather', 'get_time', 'get_weather'], toolPreamble: true, toolQuirk: ['interleaved'] },
  ],
  unicode: [ask('Grüße, 東京 👩‍👩‍👧‍👦!'), { unicode: true, words: 30 }],
  refusal: [ask('Do harm.'), { refusal: 'field' }],
  'a stop': [ask('Go.', { stop_sequences: ['river'] }), { content: 'Down it pours to a river' }],
};

const cuts: readonly BehaviourInput[] = [...byteCuts, { usageWhere: 'finish-chunk' }];

test.each(Object.keys(answers))('%s is the same message, however its bytes are cut', async (name) => {
  const [body, behaviour] = answers[name] ?? [{}, {}];
  const read = async (how: BehaviourInput): Promise<unknown> => {
    engine.set({ ...behaviour, ...how, cachedTokens: 3 });
    const response = await weir.messages(body);
    const { id, events: _, content, ...rest } = checkMessagesStream(await response.text());
    expect(id).toMatch(/^msg_/);
    return numberIds({
      ...rest,
      content: content.map((block) => ({ ...block, signature: block['signature'] !== undefined })),
    });
  };
  const whole = await read({});
  for (const how of cuts) expect(await read(how), JSON.stringify(how)).toEqual(whole);
});
