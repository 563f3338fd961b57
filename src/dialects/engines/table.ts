import type { EngineName } from '../../core/catalog.ts';

/** How an engine's requests and answers differ from the public wire format (engines.md). */
export interface Engine {
  /** Field that carries the output cap. */
  readonly capField: 'max_tokens' | 'max_completion_tokens';
  /** Field in which a replayed assistant message carries its reasoning; `none` where the engine refuses or ignores it. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | 'none';
  /** How usage is asked for on a stream. */
  readonly streamUsage: 'include' | 'continuous' | 'always';
}

const usual: Engine = { capField: 'max_tokens', reasoningField: 'reasoning_content', streamUsage: 'include' };

export const engines: Readonly<Record<EngineName, Engine>> = {
  openai: { ...usual, capField: 'max_completion_tokens', reasoningField: 'none' },
  vllm: { ...usual, reasoningField: 'reasoning', streamUsage: 'continuous' },
  sglang: { ...usual, streamUsage: 'continuous' },
  llamacpp: usual,
  ollama: { ...usual, reasoningField: 'reasoning' },
  tgi: { ...usual, reasoningField: 'none' },
  deepseek: usual,
  dashscope: usual,
  moonshot: { ...usual, capField: 'max_completion_tokens' },
  // Z.ai refuses stream_options and sends usage at the end of every stream.
  zai: { ...usual, streamUsage: 'always' },
  fireworks: usual,
  together: { ...usual, reasoningField: 'none' },
};
