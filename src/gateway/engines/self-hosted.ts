import type { SelfHostedName, VectorEngineName } from '../../core/engine-name.ts';
import { reasoningEfforts } from '../../core/request.ts';
import { byTemplate, type Engine } from './engine.ts';
import { openai } from './hosted.ts';

/** vLLM's OpenAI-compatible server, 0.16 and newer. docs/reference/engines.md §3 to §7. */
const vllm: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    // A forced tool and a schema both use guided decoding, which allows only one of them.
    conflicts: [['tool_choice', 'response_format']],
    reasoning: { off: true, efforts: reasoningEfforts, budget: true },
    systemMessages: 'Leading',
    continuation: 'flag',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning',
  streamUsage: 'continuous',
  cacheSalt: true,
  loadGauges: { running: 'vllm:num_requests_running', waiting: 'vllm:num_requests_waiting' },
  writeReasoning: (setting) => ({
    ...byTemplate(setting),
    thinking_token_budget: setting.enabled ? setting.budgetTokens : undefined,
  }),
  // It shortens vectors only of models that were trained for it, and refuses `dimensions` otherwise.
  embeddings: { base64: true, dimensions: true, tokenIds: true },
  rerank: { form: 'cohere', scores: 'Probability', documentLimit: 'max_tokens_per_doc' },
};

/** SGLang's OpenAI-compatible server. docs/reference/engines.md §3 to §7. */
const sglang: Engine = {
  ...vllm,
  capabilities: { ...vllm.capabilities, reasoning: { off: true, efforts: reasoningEfforts, budget: false } },
  reasoningField: 'reasoning_content',
  loadGauges: { running: 'sglang:num_running_reqs', waiting: 'sglang:num_queue_reqs' },
  writeReasoning: byTemplate,
  embeddings: { base64: false, dimensions: true, tokenIds: true },
  rerank: { form: 'cohere', scores: 'Probability', echoes: 'unless-told' },
};

/** llama.cpp's llama-server with `--jinja`. It is tested with a real server in test/engine. */
const llamacpp: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    // Tools and a format both need the grammar, and a request has only one.
    conflicts: [['tools', 'response_format']],
    reasoning: { off: true, efforts: reasoningEfforts, budget: false },
    systemMessages: 'Leading',
    continuation: 'echo',
    continuesReasoning: true,
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  // The server reads `tool_choice` only if it is a text. It treats anything else as `auto`.
  namedToolAlone: true,
  loadGauges: { running: 'llamacpp:requests_processing', waiting: 'llamacpp:requests_deferred' },
  writeReasoning: byTemplate,
  embeddings: { base64: true, dimensions: false, tokenIds: true },
  // With `--reranking`. Scores of Qwen3-Reranker are probabilities.
  rerank: { form: 'cohere', scores: 'Logit' },
};

/** Ollama's OpenAI-compatible endpoint. It ignores tool_choice, so only its default behaviour is offered. */
const ollama: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    toolChoice: ['auto'],
    reasoning: { off: true, efforts: reasoningEfforts, budget: false },
    continuation: 'trailing',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning',
  strictTools: false,
  loadsOnDemand: true,
  // Its versions before 0.13 ignore `encoding_format`.
  embeddings: { base64: false, dimensions: true, tokenIds: false },
  rerank: undefined,
};

/** Hugging Face text-generation-inference. It has no reasoning control and no continuation in chat. */
const tgi: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    // TGI makes a grammar of tools and of structured output, and a request has only one.
    conflicts: [['tools', 'response_format']],
    reasoning: { off: false, efforts: [], budget: false },
    inlineReasoning: { tags: ['think'], implicitOpen: false },
    systemMessages: 'Leading',
  },
  capField: 'max_tokens',
  strictTools: false,
  writeReasoning: () => ({}),
  // TGI expects the content of the format in `value`. Without a schema, any object is valid.
  writeResponseFormat: (format) => ({
    response_format: {
      type: 'json_object',
      value: format.type === 'json_schema' && format.schema !== undefined ? format.schema : { type: 'object' },
    },
  }),
  embeddings: undefined,
  rerank: undefined,
};

/** Hugging Face text-embeddings-inference. It refuses more inputs than its `--max-client-batch-size`, 32 by default. */
const tei: Engine = {
  ...openai,
  servesChat: false,
  embeddings: { base64: true, dimensions: true, tokenIds: true, maxInputs: 32 },
  rerank: { besideV1: true, form: 'tei', scores: 'Probability', maxDocuments: 32, tokensHeader: 'x-compute-tokens' },
};

/** Infinity, michaelfeil's server of embeddings. */
const infinity: Engine = {
  ...openai,
  servesChat: false,
  embeddings: { base64: true, dimensions: true, tokenIds: false, maxInputs: 2048 },
  rerank: { form: 'cohere', scores: 'Probability', maxDocuments: 2048 },
};

export const selfHosted: Readonly<Record<SelfHostedName, Engine>> = { vllm, sglang, llamacpp, ollama, tgi };

export const vectorEngines: Readonly<Record<VectorEngineName, Engine>> = { tei, infinity };
