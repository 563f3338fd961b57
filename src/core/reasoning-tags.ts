/**
 * How reasoning stands inside an answer's text (docs/reference/engines.md §3). No tag of a set may be the beginning of another tag that
 * is looked for at the same place.
 */
export interface TagSet {
  /** Open the reasoning; only at the very beginning of an answer. */
  readonly open: readonly string[];
  /** End the reasoning. What follows is the answer, and no tag means anything in it. */
  readonly close: readonly string[];
  /** Stand between two stretches of reasoning. */
  readonly between?: readonly string[];
  /** Begin an answer that has no reasoning. */
  readonly plain?: readonly string[];
}

const harmony = (channel: string): string => `<|start|>assistant<|channel|>${channel}<|message|>`;

/** The ways that models are known to write reasoning into their text. */
export const tagSets = {
  /** DeepSeek, Qwen3, GLM, MiniMax, Kimi K2, Nemotron and most others. */
  think: { open: ['<think>'], close: ['</think>'] },
  /** Seed-OSS. */
  seed: { open: ['<seed:think>'], close: ['</seed:think>'] },
  /** Kimi-VL, Kimi-Dev. */
  kimi: { open: ['◁think▷'], close: ['◁/think▷'] },
  /** Magistral. */
  bracket: { open: ['[THINK]'], close: ['[/THINK]'] },
  /** Gemma 4. The channel's name is followed by a line feed. */
  gemma: { open: ['<|channel>thought'], close: ['<channel|>'] },
  /** gpt-oss, where the engine leaves its special tokens in the text. */
  harmony: {
    open: ['<|channel|>analysis<|message|>', harmony('analysis')],
    close: [`<|end|>${harmony('final')}`, `<|end|>${harmony('commentary')}`],
    between: [`<|end|>${harmony('analysis')}`],
    plain: ['<|channel|>final<|message|>', harmony('final')],
  },
} as const satisfies Readonly<Record<string, TagSet>>;

export type TagSetName = keyof typeof tagSets;

/**
 * How a route reports reasoning inside its text. Absent for a route that reports it in a field or not at all: its text is
 * never looked through, for an answer about tags is an answer.
 */
export interface InlineReasoning {
  /** Sets that this route may use. */
  readonly tags: readonly TagSet[];
  /** The prompt's own end opened the reasoning, so that only the closing tag comes (R1, Qwen3-Thinking-2507). */
  readonly implicitOpen: boolean;
}
