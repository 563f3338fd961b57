import type { Tokenizers } from '../../src/core/prompt.ts';

/** Counts nothing: for models without a tokenizer. */
export const uncounted: Tokenizers['countPrompt'] = () => Promise.resolve({ kind: 'unknown', reason: 'tokenizer' });

/** No tokenizers at all. */
export const noTokenizers: Tokenizers = {
  load: (path) => Promise.resolve({ kind: 'broken', problem: { file: path, field: '', message: 'there are none' } }),
  boundsOf: () => undefined,
  countPrompt: uncounted,
  countText: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};
