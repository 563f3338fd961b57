import { promptShape } from '../../test/support/prompt-shape.ts';
import { describe, expect, it } from 'vitest';
import { modelOf } from '../../test/support/route-of.ts';
import { noTokenizers } from '../../test/support/uncounted.ts';
import {
  type PreparedRequest,
  type PromptCount,
  type PromptCountAsk,
  promptCounting,
  type TokenizerBounds,
} from '../core/prompt.ts';
import { checkContext } from './context.ts';

const bounds: TokenizerBounds = {
  ...{ tokensPerByte: 1, tokensPerAsciiByte: 1, longestTokenBytes: 10 },
  template: { base: 5, perMessage: 5 },
};

interface Row {
  readonly bodyBytes?: number;
  readonly cap?: number;
  readonly images?: number;
  readonly tokenizer?: { readonly path: string; readonly tokensPerImage?: number } | 'none';
  readonly known?: boolean;
  readonly count?: PromptCount;
}

/** What becomes of a request on a model with a window of 100 tokens, and what was counted for it. */
async function judge({ bodyBytes = 10, cap, images = 0, tokenizer = { path: 't' }, known = true, count }: Row) {
  const asks: PromptCountAsk[] = [];
  const prepared: PreparedRequest = {
    request: {
      ...{ modelId: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
      ...(cap === undefined ? {} : { maxOutputTokens: cap }),
    },
    shape: promptShape({ bodyBytes, images, callerImages: images }),
    bodyFor: () => '',
    countPrompt: (ask) => {
      asks.push(ask);
      return Promise.resolve(count ?? { kind: 'unknown', reason: 'tokenizer' });
    },
    release: () => undefined,
  };
  const model = modelOf([], { contextLength: 100, ...(tokenizer === 'none' ? {} : { tokenizer }) });
  const tokenizers = { ...noTokenizers, boundsOf: () => (known ? bounds : undefined) };
  const verdict = await checkContext(prepared, {
    model,
    tokenizers,
    counting: promptCounting(model, { templateArguments: { enable_thinking: true }, form: undefined }),
  }).then(
    () => 'fits',
    (failure: { readonly code: string }) => failure.code,
  );
  return { verdict, asks };
}

const tooLong = 'context_length_exceeded';

describe('whether a prompt fits', () => {
  it.each<readonly [string, Row, string, number | undefined]>([
    ['a small one fits, uncounted', {}, 'fits', undefined],
    [
      'one whose size could be too much is counted',
      { bodyBytes: 100, count: { kind: 'within', atMost: 90 } },
      'fits',
      99,
    ],
    ['counted and too long', { bodyBytes: 200, count: { kind: 'over', atLeast: 120 } }, tooLong, 99],
    ['the cap takes its part', { bodyBytes: 60, cap: 50, count: { kind: 'over', atLeast: 51 } }, tooLong, 50],
    ['a cap larger than the window', { cap: 100 }, tooLong, undefined],
    ['a cap larger than the window, without a tokenizer', { cap: 101, tokenizer: 'none' }, tooLong, undefined],
    ['without a tokenizer the engine decides', { bodyBytes: 1000, tokenizer: 'none' }, 'fits', undefined],
    ['one that cannot be counted is the engine’s', { bodyBytes: 1000 }, 'fits', 99],
    [
      'a tokenizer that is still being loaded counts',
      { known: false, count: { kind: 'over', atLeast: 120 } },
      tooLong,
      99,
    ],
    ['images of unknown cost are counted', { images: 1, count: { kind: 'counted', tokens: 3 } }, 'fits', 99],
    ['images of known cost are not', { images: 1, tokenizer: { path: 't', tokensPerImage: 10 } }, 'fits', undefined],
    [
      'images of known cost, too many',
      { images: 9, tokenizer: { path: 't', tokensPerImage: 10 }, count: { kind: 'over', atLeast: 100 } },
      tooLong,
      99,
    ],
  ])('%s', async (_, row, verdict, limit) => {
    const judged = await judge(row);
    expect(judged.verdict).toBe(verdict);
    expect(judged.asks.map((ask) => ask.limit)).toEqual(limit === undefined ? [] : [limit]);
    for (const ask of judged.asks) {
      expect(ask).toMatchObject({ want: 'fit', tokenizerPath: 't', templateArguments: { enable_thinking: true } });
    }
  });
});
