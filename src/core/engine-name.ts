/** The engines that Weir knows how to speak to. */
export const engineNames = [
  'openai',
  'vllm',
  'sglang',
  'llamacpp',
  'ollama',
  'tgi',
  'deepseek',
  'dashscope',
  'moonshot',
  'zai',
  'fireworks',
  'together',
] as const;
export type EngineName = (typeof engineNames)[number];
