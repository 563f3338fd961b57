import { describe, expect, it } from 'vitest';
import { readRequest } from './read-request.ts';

const asked = (fields: object) =>
  readRequest({ model: 'demo/tiny', messages: [{ role: 'user', content: 'hi' }], ...fields }).reasoning;
const on = (more: object = {}) => ({ enabled: true, ...more });
const off = { enabled: false };

describe('what a body asks of reasoning', () => {
  it.each([
    [{}, undefined],
    [{ reasoning_effort: null }, undefined],
    [{ reasoning_effort: 'none' }, off],
    [{ reasoning_effort: 'minimal' }, on({ effort: 'low' })],
    [{ reasoning_effort: 'low' }, on({ effort: 'low' })],
    [{ reasoning_effort: 'medium' }, on({ effort: 'medium' })],
    [{ reasoning_effort: 'high' }, on({ effort: 'high' })],
    [{ reasoning_effort: 'xhigh' }, on({ effort: 'max' })],
    [{ reasoning_effort: 'max' }, on({ effort: 'max' })],
    [{ enable_thinking: false }, off],
    [{ enable_thinking: true }, on()],
    [{ thinking: { type: 'disabled' } }, off],
    [{ thinking: { type: 'enabled' } }, on()],
    [{ thinking: { type: 'adaptive' } }, on()],
    [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, on({ budgetTokens: 2048 })],
    [{ thinking_budget: 512 }, on({ budgetTokens: 512 })],
    [{ thinking_budget: 0 }, off],
    [{ chat_template_kwargs: { enable_thinking: false } }, off],
    [{ chat_template_kwargs: { thinking: true } }, on()],
    [{ chat_template_kwargs: { other: 1 } }, undefined],
    [{ reasoning: {} }, undefined],
    [{ reasoning: { enabled: false } }, off],
    [{ reasoning: { enabled: true } }, on()],
    [{ reasoning: { effort: 'high' } }, on({ effort: 'high' })],
    [{ reasoning: { effort: 'none' } }, off],
    [{ reasoning: { max_tokens: 1000 } }, on({ budgetTokens: 1000 })],
  ])('%j is %j', (fields, expected) => {
    expect(asked(fields)).toEqual(expected);
  });

  it.each([
    [
      'reasoning_effort before all',
      { reasoning_effort: 'low', reasoning: { enabled: false }, enable_thinking: false },
      on({ effort: 'low' }),
    ],
    [
      'reasoning before thinking',
      { reasoning: { effort: 'high' }, thinking: { type: 'disabled' } },
      on({ effort: 'high' }),
    ],
    ['thinking before enable_thinking', { thinking: { type: 'disabled' }, enable_thinking: true }, off],
    [
      'enable_thinking before the template',
      { enable_thinking: false, chat_template_kwargs: { enable_thinking: true } },
      off,
    ],
    ['off before a budget', { reasoning: { enabled: false, max_tokens: 9 } }, off],
    ['a budget before an effort', { reasoning: { effort: 'low', max_tokens: 9 } }, on({ budgetTokens: 9 })],
  ])('several spellings: %s', (_, fields, expected) => {
    expect(asked(fields)).toEqual(expected);
  });

  it.each([
    [{ reasoning_effort: 'extreme' }, 'reasoning_effort'],
    [{ reasoning: { effort: 3 } }, 'reasoning.effort'],
    [{ thinking: { type: 'maybe' } }, 'thinking.type'],
    [{ enable_thinking: 'yes' }, 'enable_thinking'],
    [{ reasoning: { max_tokens: -1 } }, 'reasoning.max_tokens'],
  ])('%j is refused and names %s', (fields, field) => {
    expect(() => asked(fields)).toThrow(field);
  });
});
