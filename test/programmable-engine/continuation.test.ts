import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import { startProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr, stringOr } from './json-value.ts';
import { offsetOfTokens } from './tokens.ts';

const first = await startProgrammableEngine({ name: 'first' });
const second = await startProgrammableEngine({ name: 'second' });
afterAll(async () => Promise.all([first.close(), second.close()]));
beforeEach(() => {
  first.reset();
  second.reset();
});

const question = {
  role: 'user',
  content: 'tell me [[words=25]] [[reasoningWords=9]] [[demo {"on":"first","status":500,"times":1}]]',
};

interface Answer {
  readonly status: number;
  readonly reasoning: string;
  readonly content: string;
  readonly finish: unknown;
  readonly usage: JsonObject;
}

async function ask(url: string, body: JsonObject): Promise<Answer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'demo-chat', ...body }),
  });
  const json = objectOr(await response.json());
  const choice = objectOr(arrayOr(json['choices'])[0]);
  const message = objectOr(choice['message']);
  return {
    status: response.status,
    reasoning: stringOr(message['reasoning_content'], ''),
    content: stringOr(message['content'], ''),
    finish: choice['finish_reason'],
    usage: objectOr(json['usage']),
  };
}

const continued = async (partial: JsonObject, body: JsonObject = {}): Promise<Answer> =>
  ask(second.url, { messages: [question, { role: 'assistant', ...partial }], ...body });

describe('a partial answer', () => {
  test('is continued by another engine to the unbroken answer at every token, with tokens that add up', async () => {
    const whole = await ask(second.url, { messages: [question] });
    for (let tokens = 1; ; tokens += 1) {
      const at = offsetOfTokens(whole.content, tokens);
      const rest = await continued({ content: whole.content.slice(0, at) });
      expect(whole.content.slice(0, at) + rest.content).toBe(whole.content);
      expect(rest.reasoning).toBe('');
      expect(rest.finish).toBe('stop');
      const reasoned = Number(objectOr(whole.usage['completion_tokens_details'])['reasoning_tokens']);
      expect(Number(rest.usage['total_tokens']) + reasoned).toBe(whole.usage['total_tokens']);
      if (at === whole.content.length) break;
    }
  });

  test('that was cut in its reasoning goes on reasoning', async () => {
    const whole = await ask(second.url, { messages: [question] });
    for (let tokens = 1; tokens < 8; tokens += 1) {
      const at = offsetOfTokens(whole.reasoning, tokens);
      for (const partial of [
        { reasoning_content: whole.reasoning.slice(0, at), content: '' },
        { content: `<think>\n${whole.reasoning.slice(0, at)}` },
      ]) {
        const rest = await continued(partial);
        expect(whole.reasoning.slice(0, at) + rest.reasoning).toBe(whole.reasoning);
        expect(rest.content).toBe(whole.content);
      }
    }
  });

  test('with its reasoning between tags is continued in the text', async () => {
    const whole = await ask(second.url, { messages: [question] });
    const rest = await continued({ content: `<think>\n${whole.reasoning}\n</think>\n\n${whole.content.slice(0, 10)}` });
    expect(rest).toMatchObject({ reasoning: '', content: whole.content.slice(10) });
  });

  test('is continued within what is left of the cap', async () => {
    const capped = await ask(second.url, { messages: [question], max_tokens: 30, reasoning_effort: 'none' });
    const at = offsetOfTokens(capped.content, 12);
    const rest = await continued(
      { content: capped.content.slice(0, at) },
      { max_tokens: 18, reasoning_effort: 'none' },
    );
    expect(capped.content.slice(0, at) + rest.content).toBe(capped.content);
    expect(rest.finish).toBe('length');
  });

  test.each([
    ['flag', { content: 'You' }, { continue_final_message: true, add_generation_prompt: false }],
    ['prefix', { content: 'You', prefix: true }, {}],
    ['partial', { content: 'You', partial: true }, {}],
    ['trailing', { content: 'You' }, {}],
  ] as const)('in mode %s needs its mark, and without it begins anew', async (continuation, partial, body) => {
    second.set({ continuation });
    expect((await continued(partial, body)).content).toMatch(/^ said/u);
    if (continuation !== 'trailing') expect((await continued({ content: 'You' })).content).toMatch(/^You said/u);
  });

  test('is repeated first by an engine that echoes, and the repeat is not counted', async () => {
    const plain = await continued({ content: 'You said' });
    second.set({ continuation: 'echo' });
    const echoed = await continued({ content: 'You said' });
    expect(echoed.content).toBe(`You said${plain.content}`);
    expect(echoed.usage['completion_tokens']).toBe(plain.usage['completion_tokens']);
  });

  test('is continued to the choice that it begins, and to the first where more than one begins so', async () => {
    const contents = ['One river, and no more.', 'One lake, and no more.'];
    second.set({ contents });
    expect(await continued({ content: 'One lake,' })).toMatchObject({ content: ' and no more.' });
    expect(await continued({ content: 'One' })).toMatchObject({ content: ' river, and no more.' });
  });

  test('is refused where prefill was removed, and ignored where it is not known', async () => {
    second.set({ continuation: 'refuse' });
    expect(await continued({ content: 'You' })).toMatchObject({ status: 400 });
    second.set({ continuation: 'ignore' });
    expect((await continued({ content: 'You' })).content).toMatch(/^You said/u);
  });

  test('with both vLLM flags on is a contradiction', async () => {
    const flags = { continue_final_message: true, add_generation_prompt: true };
    expect(await continued({ content: 'You' }, flags)).toMatchObject({ status: 400 });
  });

  test('can be continued wrongly on demand', async () => {
    const whole = await ask(second.url, { messages: [question] });
    const start = whole.content.split(' ').slice(0, 5).join(' ');
    second.set({ continuationQuirk: 'misfiled' });
    expect(await continued({ content: start })).toMatchObject({
      content: '',
      reasoning: whole.content.slice(start.length),
    });
    second.set({ continuationQuirk: 'overlap' });
    expect((await continued({ content: start })).content).toBe(
      start.split(' ').slice(-3).join(' ') + whole.content.slice(start.length),
    );
    second.set({ continuationQuirk: 'restarts-text' });
    expect(await continued({ content: start })).toMatchObject({ content: whole.content, reasoning: '' });
    second.set({ continuationQuirk: 'restarts-reasoning' });
    expect(await continued({ content: start })).toMatchObject({
      reasoning: whole.reasoning,
      content: whole.content.slice(start.length),
    });
  });
});

test('a directive can be for one engine and for the first request of a conversation only', async () => {
  expect((await ask(first.url, { messages: [question] })).status).toBe(500);
  expect((await ask(first.url, { messages: [question, { role: 'assistant', content: 'You' }] })).status).toBe(200);
  expect((await ask(second.url, { messages: [question] })).status).toBe(200);
});
