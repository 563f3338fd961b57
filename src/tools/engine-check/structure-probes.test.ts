import { describe, expect, it } from 'vitest';
import { newChoice } from '../../gateway/core/answer-choice.ts';
import type { ChoiceAnswer } from './ask-engine.ts';
import { nameOf } from './finding.ts';
import { probeStructure } from './structure-probes.ts';

/** What is found about `tool_choice: auto` where the engine answers every request so. */
async function foundAuto(answer: Partial<ChoiceAnswer>, completionTokens: number) {
  const choice: ChoiceAnswer = { ...newChoice(), finish: 'stop', logprobs: [], ...answer };
  const findings = await probeStructure(async () => ({
    ...{ kind: 'answer', choices: [choice], hasRunningUsage: false },
    usage: { promptTokens: 20, completionTokens },
  }));
  const found = findings.find(({ subject }) => nameOf(subject) === 'tool_choice auto');
  return `${found?.verdict}: ${found?.note}`;
}

describe('a call in the text', () => {
  it.each([
    ['Hermes', '<tool_call>\n{"name": "get_weather", "arguments": {"dry": true}}\n</tool_call>'],
    ['words before it', 'I look.<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>'],
    ['two of them', '<tool_call>{"name": "get_time"}</tool_call>\n<tool_call>{"name": "get_weather"}</tool_call>'],
    [
      'Qwen3-Coder',
      '<tool_call>\n<function=get_weather>\n<parameter=dry>\ntrue\n</parameter>\n</function>\n</tool_call>',
    ],
    ['Mistral', '[TOOL_CALLS][{"name": "get_weather", "arguments": {}}]'],
    ['Llama', '<|python_tag|>{"name": "get_weather", "parameters": {}}'],
  ])('%s, well-formed: the server has no parser for it', async (_, text) => {
    expect(await foundAuto({ text }, 40)).toBe('no: the call stands in the text: the server has no parser for it');
  });

  it.each(['<tool_call>\n{"name": "get_weather", "argu', '<tool_call>\n<function=get_weather>\n<parameter=dry>'])(
    '%j is the model’s own fault',
    async (text) => {
      expect(await foundAuto({ text }, 40)).toBe('unclear: accepted; the model wrote a malformed call');
    },
  );
});

describe('an answer without text and calls', () => {
  it('of many tokens is a call that the server dropped', async () => {
    expect(await foundAuto({}, 107)).toBe(
      "no: neither text nor a call in 107 tokens: the server's parser cannot read the call",
    );
  });

  it.each<[what: string, answer: Partial<ChoiceAnswer>, tokens: number]>([
    ['of one token', {}, 1],
    ['with reasoning', { reasoning: 'I need no tool.' }, 107],
    ['that the cap cut', { finish: 'length' }, 107],
  ])('%s proves nothing', async (_, answer, tokens) => {
    expect(await foundAuto(answer, tokens)).toBe('unclear: accepted; the model called no tool');
  });
});
