import type { Prompt, PromptCount, PromptCountOptions, TokenizerLoad } from '../../core/prompt.ts';

/** A task that the main thread gives to the tokenizer thread. */
export type TokenizerAsk =
  | { readonly kind: 'load'; readonly path: string }
  | {
      readonly kind: 'prompt';
      readonly path: string;
      readonly prompt: Prompt;
      readonly options: PromptCountOptions;
    }
  | { readonly kind: 'text'; readonly path: string; readonly text: string };

export type TokenizerAnswer =
  | { readonly kind: 'load'; readonly load: TokenizerLoad }
  | { readonly kind: 'prompt'; readonly count: PromptCount }
  | { readonly kind: 'text'; readonly tokens: number | undefined };

export interface TokenizerThreadData {
  readonly root: string;
  /** Most time one count may take, without the time of others in between. */
  readonly allowanceMs: number;
}
