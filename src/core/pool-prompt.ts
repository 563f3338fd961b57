/**
 * The blocks of a prompt's text: a chain of keyed digests, each of its own block and all before it. Prompts with an equal beginning
 * have equal first blocks, and a digest reveals nothing else without the key. Digests are whole numbers of 48 bits.
 */
export interface PromptBlocks {
  readonly digests: readonly number[];
  /** Characters of the text up to the end of each block. */
  readonly ends: readonly number[];
  /** Characters of the whole text, the end that fills no block included. */
  readonly length: number;
}

/** The contents of a prompt's blocks, before they are keyed. They stay in the memory of the service, and only as long as the request. */
export interface BlockContents {
  /** 64 hexadecimal digits for each block. */
  readonly digests: string;
  /** Digest of the end that fills no block. */
  readonly end: string;
  /** Characters of the whole text. */
  readonly length: number;
}

export interface BlockKey {
  /** Common to all replicas, and known to nothing else. */
  readonly secret: string;
  /** Prompts of different scopes share no blocks. */
  readonly scope: string;
}

/** A prompt, as the cache of an endpoint sees it. */
export interface PoolPrompt {
  /** Digests of its blocks, each of its own block and all before it. */
  readonly digests: readonly number[];
  /** Tokens of the prompt up to the end of each block, as far as they are known. */
  readonly ends: readonly number[];
  readonly tokens: number;
}

/**
 * Why an endpoint was picked. `only`: there is no other. `holder`: it holds more of the prompt's beginning than the others, or as much.
 * `sooner`: it answers sooner than another one that holds more. `untried`, `least-work`: no endpoint holds any of the prompt, and it has
 * not been tried, or has least to do. `explored`: it had no attempt for long, and may have become faster.
 */
export const pickReasons = ['only', 'holder', 'sooner', 'untried', 'least-work', 'explored'] as const;
export type PickReason = (typeof pickReasons)[number];

/** The pick of an endpoint for a prompt, with the prediction on which it rests. */
export interface EndpointPick {
  readonly why: PickReason;
  /** Tokens of the prompt that the endpoint is expected to have in its cache. */
  readonly heldTokens: number;
  /** Expected time to the first token, ms. */
  readonly firstMs: number;
}
