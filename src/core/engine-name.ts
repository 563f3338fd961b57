/** Engines that are a provider's service: all of its addresses lead to the same service. */
const providerNames = ['deepseek', 'dashscope', 'moonshot', 'zai', 'fireworks', 'together'] as const;

/** The engines that Weir knows how to speak to. */
export const engineNames = ['openai', 'vllm', 'sglang', 'llamacpp', 'ollama', 'tgi', ...providerNames] as const;
export type EngineName = (typeof engineNames)[number];

/** Engines whose prefix cache can be divided: prompts with different salts share nothing. The others ignore a salt, or refuse it. */
export const saltedEngines: ReadonlySet<EngineName> = new Set(['vllm', 'sglang']);

export const providerEngines: ReadonlySet<EngineName> = new Set(providerNames);
