import { describe, expect, it } from 'vitest';
import { createFailedPrompts } from './failed-prompts.ts';

describe('a prompt on which engines fail', () => {
  it('is news of each place once a minute', () => {
    const prompts = createFailedPrompts(() => 0.5);
    const isRepeated = (now: number, place: string, prompt = 1): boolean => prompts.failed(now, { prompt, place });
    expect([isRepeated(0, 'a'), isRepeated(0, 'a'), isRepeated(0, 'b')]).toEqual([false, true, false]);
    expect(isRepeated(0, 'a', 2)).toBe(false);
    expect([isRepeated(59_999, 'a'), isRepeated(60_000, 'a'), isRepeated(60_000, 'a')]).toEqual([true, false, true]);
  });

  it('always counts when the prompt is unknown', () => {
    const prompts = createFailedPrompts(() => 0);
    for (let time = 0; time < 3; time += 1) expect(prompts.failed(0, { prompt: undefined, place: 'a' })).toBe(false);
  });

  it('is known for the places that it failed in within a minute, until one answers it', () => {
    const prompts = createFailedPrompts(() => 0);
    expect(prompts.places(0, 1)).toBe(0);
    prompts.failed(0, { prompt: 1, place: 'a' });
    prompts.failed(30_000, { prompt: 1, place: 'b' });
    expect([prompts.places(30_000, 1), prompts.places(30_000, 2), prompts.places(60_000, 1)]).toEqual([2, 0, 1]);
    prompts.answered(1);
    expect(prompts.places(30_000, 1)).toBe(0);
  });

  it('is forgotten after two thousand others', () => {
    const prompts = createFailedPrompts(() => 0);
    for (let prompt = 0; prompt <= 2000; prompt += 1) prompts.failed(0, { prompt, place: 'a' });
    expect([prompts.places(0, 0), prompts.places(0, 1)]).toEqual([0, 1]);
  });
});
