/** Engines that operators run themselves. */
const selfHostedNames = ['vllm', 'sglang', 'llamacpp', 'ollama', 'tgi'] as const;
export type SelfHostedName = (typeof selfHostedNames)[number];

/** Engines that are a provider's service: all of its addresses lead to the same service. */
const providerNames = ['deepseek', 'dashscope', 'moonshot', 'zai', 'fireworks', 'together'] as const;
export type ProviderName = (typeof providerNames)[number];

/** Engines that serve no chat, only embeddings and rerank: Hugging Face text-embeddings-inference, and Infinity. */
const vectorEngineNames = ['tei', 'infinity'] as const;
export type VectorEngineName = (typeof vectorEngineNames)[number];

/** The engines that serve chat. `openai` is the public wire format, wherever it is spoken. */
export const chatEngineNames = ['openai', ...selfHostedNames, ...providerNames] as const;

/** The engines that Weir knows how to speak to. */
export const engineNames = [...chatEngineNames, ...vectorEngineNames] as const;
export type EngineName = (typeof engineNames)[number];

export const providerEngines: ReadonlySet<EngineName> = new Set(providerNames);
