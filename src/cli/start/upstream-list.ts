import * as z from 'zod';
import type { EngineName } from '../../core/catalog.ts';

const count = z.int().positive().optional().catch(undefined);

/** One entry of `GET /v1/models`, as far as any known engine says something of use. Anything else is ignored. */
const entry = z.object({
  id: z.string().min(1),
  owned_by: z.string().optional().catch(undefined),
  created: count,
  /** vLLM and SGLang. */
  max_model_len: count,
  /** Together and most hosted services. */
  context_length: count,
  /** llama.cpp: what the server was started with, and what the model was trained for. */
  meta: z.object({ n_ctx: count, n_ctx_train: count }).optional().catch(undefined),
  architecture: z
    .object({ input_modalities: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
export type UpstreamEntry = z.output<typeof entry>;

const list = z.object({ data: z.array(z.unknown()) });

/** Reads a model list; undefined when it is none. Entries without an id are left out. Together sends a bare array. */
export function readModelList(json: unknown): readonly UpstreamEntry[] | undefined {
  const parsed = list.safeParse(Array.isArray(json) ? { data: json } : json);
  if (!parsed.success) return undefined;
  return parsed.data.data.flatMap((item) => {
    const one = entry.safeParse(item);
    return one.success ? [one.data] : [];
  });
}

const enginesByOwner: Readonly<Record<string, EngineName>> = {
  llamacpp: 'llamacpp',
  vllm: 'vllm',
  sglang: 'sglang',
  library: 'ollama',
  deepseek: 'deepseek',
  moonshot: 'moonshot',
};

const enginesByHost: readonly (readonly [RegExp, EngineName])[] = [
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)aliyuncs\.com$/, 'dashscope'],
  [/(^|\.)moonshot\.(ai|cn)$/, 'moonshot'],
  [/(^|\.)(z\.ai|bigmodel\.cn)$/, 'zai'],
  [/(^|\.)fireworks\.ai$/, 'fireworks'],
  [/(^|\.)together\.(ai|xyz)$/, 'together'],
];

/** Guesses which engine a list came from; `openai`, the plain form, when nothing gives it away. */
export function guessEngine(host: string, entries: readonly UpstreamEntry[]): EngineName {
  const byHost = enginesByHost.find(([pattern]) => pattern.test(host));
  if (byHost !== undefined) return byHost[1];
  for (const { owned_by: owner = '' } of entries) {
    const engine = Object.hasOwn(enginesByOwner, owner) ? enginesByOwner[owner] : undefined;
    if (engine !== undefined) return engine;
  }
  if (entries.some(({ meta }) => meta?.n_ctx_train !== undefined)) return 'llamacpp';
  return entries.some(({ max_model_len: length }) => length !== undefined) ? 'vllm' : 'openai';
}

const assumedContextLength = 131_072;

/** The window the engine declares, in tokens. What it was started with counts before what the model could do. */
export function contextLengthOf({ max_model_len, meta, context_length }: UpstreamEntry): number {
  return max_model_len ?? meta?.n_ctx ?? context_length ?? meta?.n_ctx_train ?? assumedContextLength;
}
