/** Engines that operators run themselves. */
const selfHostedNames = ['vllm', 'sglang', 'llamacpp', 'ollama', 'tgi'] as const;
export type SelfHostedName = (typeof selfHostedNames)[number];

/** Engines that are a provider's service: all of its addresses lead to the same service. */
const providerNames = ['deepseek', 'dashscope', 'moonshot', 'zai', 'fireworks', 'together'] as const;
export type ProviderName = (typeof providerNames)[number];

/** The engines that Weir knows how to speak to. `openai` is the public wire format, wherever it is spoken. */
export const engineNames = ['openai', ...selfHostedNames, ...providerNames] as const;
export type EngineName = (typeof engineNames)[number];

export const providerEngines: ReadonlySet<EngineName> = new Set(providerNames);
