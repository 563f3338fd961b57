/** The `config.yaml` of a LiteLLM proxy: the fields that have a counterpart, and the paths of all others. */
import * as z from 'zod';

const amount = z.coerce.number().nonnegative().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);
const text = z.string().optional().catch(undefined);
/** A day without quotes is a date in YAML 1.1. */
const dated = z
  .union([z.string(), z.date().transform((day) => day.toISOString().slice(0, 10))])
  .optional()
  .catch(undefined);

const prices = { input_cost_per_token: amount, output_cost_per_token: amount, cache_read_input_token_cost: amount };

const deployment = z.object({
  model_name: z.string(),
  litellm_params: z.object({
    model: z.string(),
    api_base: text,
    base_url: text,
    api_key: text,
    api_version: dated,
    custom_llm_provider: text,
    extra_headers: z.record(z.string(), z.string()).optional().catch(undefined),
    temperature: z.coerce.number().min(0).max(2).optional().catch(undefined),
    top_p: z.coerce.number().min(0).max(1).optional().catch(undefined),
    max_tokens: z.coerce.number().int().min(1).max(100_000_000).optional().catch(undefined),
    weight: amount,
    rpm: amount,
    tpm: amount,
    order: amount,
    max_parallel_requests: amount,
    ...prices,
  }),
  model_info: z
    .object({
      mode: text,
      max_input_tokens: amount,
      max_tokens: amount,
      supports_vision: flag,
      supports_reasoning: flag,
      supports_function_calling: flag,
      ...prices,
    })
    .nullish()
    .transform((info) => info ?? {}),
});

const fallbacks = z
  .array(z.record(z.string(), z.array(z.string())))
  .default(() => [])
  .catch(() => []);

const configSchema = z.object({
  model_list: z.array(deployment),
  router_settings: z
    .object({ model_group_alias: z.record(z.string(), z.unknown()).default(() => ({})), fallbacks })
    .default(() => ({ model_group_alias: {}, fallbacks: [] })),
  litellm_settings: z.object({ fallbacks }).default(() => ({ fallbacks: [] })),
});

export type LiteLlmConfig = z.infer<typeof configSchema>;
export type Deployment = LiteLlmConfig['model_list'][number];

/** Throws with the path of the field that makes it no configuration of LiteLLM. */
export function readConfig(value: unknown): LiteLlmConfig {
  const read = configSchema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = issue === undefined ? '' : pathText(issue.path);
  throw new Error(`expected the config.yaml of LiteLLM: ${path === '' ? 'the file' : path}: ${issue?.message ?? ''}`);
}

/** `model_list[0].litellm_params.rpm` */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** Every value that is no object: a list of plain values is one. */
export function leavesOf(value: unknown, path: readonly PropertyKey[] = []): readonly (readonly PropertyKey[])[] {
  if (Array.isArray(value)) {
    const parts: readonly unknown[] = value;
    const isPlain = parts.every((part) => typeof part !== 'object' || part === null);
    return isPlain ? [path] : parts.flatMap((part, index) => leavesOf(part, [...path, index]));
  }
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Object.entries(value);
  return entries.length === 0 ? [path] : entries.flatMap(([key, part]) => leavesOf(part, [...path, key]));
}
