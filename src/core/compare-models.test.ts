import { expect, it } from 'vitest';
import { routeOf } from '../../test/support/route-of.ts';
import type { EngineName } from './engine-name.ts';
import type { EngineModel } from './model-list.ts';
import { listDifference } from './compare-models.ts';

it.each<readonly [engine: EngineName, upstreamModel: string, models: readonly EngineModel[], text: RegExp | undefined]>(
  [
    ['vllm', 'qwen', [{ id: 'qwen', max_model_len: 8192 }], undefined],
    [
      'vllm',
      'qwen',
      [{ id: 'qwen', max_model_len: 4096 }],
      /^contextLength 8192 of acme\/qwen is more than its 4096 tokens$/,
    ],
    ['sglang', 'qwen', [{ id: 'qwen' }], undefined],
    ['vllm', 'qwen3', [{ id: 'qwen' }], /^upstreamModel "qwen3" is not listed \(Did you mean qwen\?\); it lists qwen$/],
    ['openai', 'qwen', 'abcdefg'.split('').map((id) => ({ id })), /is not listed; it lists a, b, c, d, e and 2 more$/],
    ['openai', 'qwen', [{ id: 'a\u001b[2J' }], /it lists a\\u001b\[2J$/],
    ['ollama', 'qwen', [{ id: 'qwen:latest' }], undefined],
    ['ollama', 'qwen', [{ id: 'qwen:8b' }], /is not listed/],
    [
      'llamacpp',
      'any',
      [{ id: '/models/qwen.gguf', meta: { n_ctx: 2048, n_ctx_train: 32_768 } }],
      /more than its 2048 tokens$/,
    ],
    // What a model was trained for may be less than what the server stretches it to.
    ['llamacpp', 'any', [{ id: '/models/qwen.gguf', meta: { n_ctx_train: 2048 } }], undefined],
    // A provider need not list all that it serves.
    ['deepseek', 'qwen', [{ id: 'other' }], undefined],
    ['together', 'qwen', [{ id: 'qwen', context_length: 4096 }], /more than its 4096 tokens$/],
  ],
)('%s, %s, %j: %s', (engine, upstreamModel, models, text) => {
  const { backend } = routeOf('a');
  const route = { upstreamModel, backend: { ...backend, engine } };
  const found = listDifference(models, { model: { id: 'acme/qwen', contextLength: 8192 }, route });
  if (text === undefined) expect(found).toBeUndefined();
  else expect(found?.text).toMatch(text);
});
