import { expect, it } from 'vitest';
import { sampleStory } from '../../../test/support/sample-story.ts';
import type { Story } from '../../telemetry/core/story.ts';
import { storyText } from './story-text.ts';

const options = { workspaces: (id: string) => id, silent: [] };

it('says which endpoint got an attempt, and why it was picked', () => {
  const story = sampleStory();
  const [attempt] = story.attempts ?? [];
  if (attempt === undefined) throw new Error('the sample has no attempt');
  const textWith = (pick: typeof attempt.pick): string =>
    storyText({ ...story, attempts: [{ ...attempt, pick }] }, options);
  expect(textWith({ why: 'holder', held_tokens: 6000, expected_first_token_ms: 120 })).toContain(
    'at 10.0.0.1:8000 (first attempt): first output at 130 ms, complete at 890 ms, 12 output tokens. ' +
      'The endpoint was picked since it has most of the prompt in its cache (6000 tokens of the prompt cached, first token expected after 120 ms).',
  );
  expect(textWith(null)).not.toContain('picked');
});

it('names the limit that refused a request', () => {
  const refused = (
    limit: NonNullable<Story['failure']>['limit'],
    reached?: NonNullable<Story['failure']>['reached'],
  ): string => {
    const failure = { code: 'rate_limited' as const, status: 429, about: [], limit, reached };
    return storyText(sampleStory({ outcome: 'refused', duration_ms: 2, failure }), options);
  };
  expect(refused('workspace-tokens')).toContain(
    'was refused, after 2 ms. The caller got rate_limited (HTTP 429). It reached a limit: tokens a minute of the workspace (workspace-tokens).',
  );
  expect(refused('tag-budget', [{ tag: 'team=search', limit: '0.02', spent: '0.0201' }])).toContain(
    'It reached a limit: budget of a tag (tag-budget), team=search: 0.0201 of 0.02 USD spent.',
  );
  expect(refused('tag-tokens', [{ tag: 'team=search', limit: '600' }])).toContain(
    '(tag-tokens), team=search: 600 tokens a minute.',
  );
  expect(refused(null)).not.toContain('limit:');
});

it('shows the unit prices of the bill, or that they are not known', () => {
  const prices = { prompt: 150_000n, completion: 600_000n, inputCacheRead: 30_000n };
  expect(storyText(sampleStory(), { ...options, prices })).toContain(
    'Prices in USD per million tokens: 0.15 input, 0.03 cached input, 0.6 output.',
  );
  expect(storyText(sampleStory(), { ...options, prices: { ...prices, webSearch: 5_000_000_000n } })).toContain(
    '0.6 output; 0.005 USD for a web search.',
  );
  expect(storyText(sampleStory(), options)).toContain('Its unit prices are not known');
  expect(storyText(sampleStory({ bill: null }), options)).not.toMatch(/prices/i);
});
