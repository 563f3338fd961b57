import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../core/money.ts';
import { mergeUsage, readUsage, usageFrom, usageOf, type UsageReport } from './read-usage.ts';

const totals = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const counted = (more: Partial<Usage> = {}): Usage => ({ promptTokens: 10, completionTokens: 5, ...more });

/** The shapes of docs/reference/engines.md §4: a chunk or whole answer, and its usage. */
const rows: readonly (readonly [
  engine: string,
  answer: Readonly<Record<string, unknown>>,
  usage: Usage | undefined,
])[] = [
  [
    'openai',
    {
      usage: {
        ...totals,
        prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    },
    counted({ cachedTokens: 4, reasoningTokens: 3 }),
  ],
  ['vllm', { usage: { ...totals, prompt_tokens_details: null } }, counted()],
  [
    'vllm that caches',
    { usage: { ...totals, prompt_tokens_details: { cached_tokens: 0 } } },
    counted({ cachedTokens: 0 }),
  ],
  [
    'sglang',
    { usage: { ...totals, reasoning_tokens: 3, prompt_tokens_details: null } },
    counted({ reasoningTokens: 3 }),
  ],
  ['sglang that does not reason', { usage: { ...totals, reasoning_tokens: 0 } }, counted({ reasoningTokens: 0 })],
  [
    'llamacpp',
    {
      usage: { ...totals, prompt_tokens_details: { cached_tokens: 9 } },
      timings: { cache_n: 9, prompt_n: 1, predicted_n: 5 },
    },
    counted({ cachedTokens: 9 }),
  ],
  [
    'llamacpp that was not asked',
    { timings: { cache_n: 9, prompt_n: 1, prompt_ms: 30.9, predicted_n: 5 } },
    counted({ cachedTokens: 9 }),
  ],
  ['llamacpp of old', { timings: { prompt_n: 10, predicted_n: 5 } }, counted()],
  ['tgi', { usage: totals }, counted()],
  [
    'deepseek',
    { usage: { ...totals, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 } },
    counted({ cachedTokens: 4 }),
  ],
  [
    'dashscope',
    {
      usage: {
        ...totals,
        prompt_tokens_details: { cached_tokens: 4, cache_creation_input_tokens: 0, cache_type: 'ephemeral' },
      },
    },
    counted({ cachedTokens: 4 }),
  ],
  ['moonshot', { usage: { ...totals, cached_tokens: 4 } }, counted({ cachedTokens: 4 })],
  ['moonshot of old', { choices: [{ index: 0, delta: {}, usage: totals }] }, counted()],
  ['groq', { x_groq: { id: 'x', usage: { ...totals, queue_time: 0.02 } } }, counted()],
  [
    'xai, whose completion leaves out the reasoning',
    {
      usage: {
        prompt_tokens: 307,
        completion_tokens: 26,
        total_tokens: 560,
        completion_tokens_details: { reasoning_tokens: 227 },
      },
    },
    { promptTokens: 307, completionTokens: 253, reasoningTokens: 227 },
  ],
  [
    'one whose total does not add up',
    { usage: { ...totals, total_tokens: 32, completion_tokens_details: { reasoning_tokens: 3 } } },
    counted({ reasoningTokens: 3 }),
  ],
  ['one that leaves out the completion', { usage: { prompt_tokens: 10, total_tokens: 15 } }, counted()],
  ['one that leaves out the prompt', { usage: { completion_tokens: 5, total_tokens: 15 } }, counted()],
  ['one without completion and total', { usage: { prompt_tokens: 10 } }, undefined],
  [
    'one that counts nothing',
    { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    { promptTokens: 0, completionTokens: 0 },
  ],
  ['one with more cached than read', { usage: { ...totals, cached_tokens: 99 } }, counted({ cachedTokens: 10 })],
  ['one with more reasoning than output', { usage: { ...totals, reasoning_tokens: 99 } }, counted()],
  ['null', { usage: null }, undefined],
  ['none', {}, undefined],
  ['wrong types', { usage: { prompt_tokens: ['10'], completion_tokens: '-5', total_tokens: 1.5 } }, undefined],
  ['a list', { usage: [totals] }, { promptTokens: 10, completionTokens: 5 }],
];

const usageIn = (answer: Readonly<Record<string, unknown>>): Usage | undefined => {
  const report = usageOf(answer);
  return report === undefined ? undefined : usageFrom(report);
};

describe('usage', () => {
  it.each(rows)('of %s is read into one shape', (_, answer, usage) => {
    expect(usageIn(answer)).toEqual(usage);
  });

  it('at the top goes before usage anywhere else', () => {
    const other = { prompt_tokens: 1, completion_tokens: 1 };
    const answer = {
      usage: totals,
      choices: [{ usage: other }],
      x_groq: { usage: other },
      timings: { prompt_n: 1, predicted_n: 1 },
    };
    expect(usageIn(answer)).toEqual(counted());
  });
});

const count = fc.option(fc.nat({ max: 1000 }), { nil: undefined });
const report: fc.Arbitrary<UsageReport> = fc.record({
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  reasoningTokens: count,
});
const fields = ['promptTokens', 'completionTokens', 'cachedTokens', 'reasoningTokens'] as const;

describe('reports of one stream', () => {
  const merged = (reports: readonly UsageReport[]): UsageReport =>
    reports.reduce((older, newer) => mergeUsage(older, newer), {});

  it('merge to the last value of each count, and zero is not absent', () => {
    fc.assert(
      fc.property(fc.array(report), (reports) => {
        const whole = merged(reports);
        for (const field of fields) {
          expect(whole[field]).toBe(reports.map((each) => each[field]).findLast((value) => value !== undefined));
        }
      }),
    );
  });

  it('merge the same at once and in parts, and a repeated report changes nothing', () => {
    fc.assert(
      fc.property(fc.array(report), fc.array(report), (some, others) => {
        const whole = merged([...some, ...others]);
        expect(mergeUsage(merged(some), merged(others))).toEqual(whole);
        expect(mergeUsage(whole, whole)).toEqual(whole);
      }),
    );
  });

  it('result in a usage whose parts are never larger than their totals', () => {
    fc.assert(
      fc.property(report, (each) => {
        const usage = usageFrom(each);
        expect(usage === undefined).toBe(each.promptTokens === undefined || each.completionTokens === undefined);
        if (usage === undefined) return;
        expect(usage.cachedTokens ?? 0).toBeLessThanOrEqual(usage.promptTokens);
        expect(usage.reasoningTokens ?? 0).toBeLessThanOrEqual(usage.completionTokens);
        expect(usage.cachedTokens === undefined).toBe(each.cachedTokens === undefined);
      }),
    );
  });

  it('are read from anything without an exception', () => {
    fc.assert(
      fc.property(
        fc.object({
          key: fc.constantFrom(
            'prompt_tokens',
            'completion_tokens',
            'total_tokens',
            'reasoning_tokens',
            'cached_tokens',
            'prompt_tokens_details',
            'x',
          ),
          maxDepth: 2,
        }),
        (block) => {
          const read = readUsage(block);
          for (const field of fields) {
            const value = read?.[field];
            const isCount = value === undefined || (Number.isSafeInteger(value) && value >= 0);
            // `checkUsage` validates these two against the request.
            const isJudged = field === 'promptTokens' || field === 'completionTokens';
            expect(isJudged ? value === undefined || typeof value === 'number' : isCount).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
