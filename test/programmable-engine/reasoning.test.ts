import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import { startProgrammableEngine } from './engine.ts';
import { type JsonObject, objectOr } from './json-value.ts';
import { choiceOf, messageOf, poster, user } from './question.ts';
import { eventJson, joinedField } from './stream-events.ts';
const engine = await startProgrammableEngine({ models: ['m'] });
const post = poster(engine, 'm');
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

describe('reasoning', () => {
  const reasons = async (body: JsonObject): Promise<boolean> =>
    messageOf((await post({ messages: user('go'), ...body })).json)['reasoning_content'] !== undefined;

  test.each([
    [{}, true],
    [{ reasoning_effort: 'none' }, false],
    [{ reasoning_effort: 'low' }, true],
    [{ enable_thinking: false }, false],
    [{ chat_template_kwargs: { enable_thinking: false } }, false],
    [{ chat_template_kwargs: { thinking: false } }, false],
    [{ thinking: { type: 'disabled' } }, false],
    [{ reasoning: { enabled: false } }, false],
    [{ reasoning: { effort: 'none' } }, false],
    [{ demo: { reasoning: 'always' }, reasoning_effort: 'none' }, true],
    [{ demo: { reasoning: 'never' } }, false],
    [{ demo: { reasoning: 'default-off' } }, false],
    [{ demo: { reasoning: 'default-off' }, thinking: { type: 'enabled' } }, true],
  ])('with %j: %s', async (body, expected) => {
    expect(await reasons(body)).toBe(expected);
  });

  test('keeps to a budget in tokens and follows the effort', async () => {
    const tokens = async (body: JsonObject): Promise<number> =>
      Number(
        objectOr(objectOr((await post({ messages: user('go'), ...body })).json['usage'])['completion_tokens_details'])[
          'reasoning_tokens'
        ],
      );
    expect(await tokens({ thinking: { type: 'enabled', budget_tokens: 9 } })).toBe(9);
    expect(await tokens({ thinking_token_budget: 4 })).toBe(4);
    expect(await tokens({ reasoning_effort: 'low' })).toBeLessThan(await tokens({ reasoning_effort: 'high' }));
  });

  test.each([
    ['reasoning', { reasoning: 'R', content: 'C' }],
    ['both', { reasoning: 'R', reasoning_content: 'R', content: 'C' }],
    ['think', { content: '<think>\nR\n</think>\n\nC' }],
    ['think-implicit', { content: 'R\n</think>\n\nC' }],
    ['kimi', { content: '◁think▷R◁/think▷C' }],
    ['bracket', { content: '[THINK]R[/THINK]C' }],
    ['gemma', { content: '<|channel>thought\nR<channel|>C' }],
    ['harmony', { content: '<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>C' }],
  ] as const)('is reported as %s', async (field, shape) => {
    const ideal = messageOf((await post({ messages: user('go') })).json);
    const expected = Object.fromEntries(
      Object.entries(shape).map(([name, text]) => [
        name,
        text
          .replace(/^R|(?<=[\n▷>|\]])R/u, String(ideal['reasoning_content']))
          .replace(/C$/u, String(ideal['content'])),
      ]),
    );
    engine.set({ reasoningField: field });
    const { reasoning_content, reasoning, content } = messageOf((await post({ messages: user('go') })).json);
    expect({ reasoning_content, reasoning, content }).toEqual({
      reasoning_content: undefined,
      reasoning: undefined,
      ...expected,
    });
    engine.set({ reasoningField: field, reasoningChunks: 'split-tags' });
    const { text } = await post({ messages: user('go'), stream: true });
    expect(joinedField(text, 'content')).toBe(content);
  });

  test('shares a chunk with the text when mixed, and leaves the other field null when told', async () => {
    engine.set({ reasoningChunks: 'mixed' });
    const mixed = await post({ messages: user('go'), stream: true });
    const both = eventJson(mixed.text)
      .map((chunk) => objectOr(choiceOf(chunk)['delta']))
      .filter((delta) => delta['reasoning_content'] !== undefined && delta['content'] !== undefined);
    expect(both).toHaveLength(1);
    engine.set({ reasoningField: 'both-one-null' });
    const nulls = await post({ messages: user('go'), stream: true });
    expect(nulls.text).toContain('"delta":{"content":null,"reasoning_content":"Let"}');
    expect(nulls.text).toContain('"delta":{"content":"You","reasoning_content":null}');
  });
});
