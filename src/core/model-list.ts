/** The list of models of an engine: the answer to `GET …/models`. */
import * as z from 'zod';

const count = z.int().positive().optional().catch(undefined);

/** The useful fields of an entry of `GET /v1/models`, of all known engines. Others are ignored. */
const entry = z.object({
  id: z.string().min(1),
  owned_by: z.string().optional().catch(undefined),
  created: count,
  /** vLLM and SGLang. */
  max_model_len: count,
  /** Together and most hosted services. */
  context_length: count,
  /** llama.cpp: the window that the server was started with, and the window that the model was trained for. */
  meta: z.object({ n_ctx: count, n_ctx_train: count }).optional().catch(undefined),
  architecture: z
    .object({ input_modalities: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
export type EngineModel = z.output<typeof entry>;

const list = z.object({ data: z.array(z.unknown()) });

/** Reads a model list; undefined if it is none. Entries without an id are left out. Together sends a bare array. */
export function readModelList(json: unknown): readonly EngineModel[] | undefined {
  const parsed = list.safeParse(Array.isArray(json) ? { data: json } : json);
  if (!parsed.success) return undefined;
  return parsed.data.data.flatMap((item) => {
    const one = entry.safeParse(item);
    return one.success ? [one.data] : [];
  });
}

/**
 * The context window that the engine declares, in tokens; undefined if it declares none. The window of the running server
 * has precedence over the window of the model.
 */
export const declaredContextLength = (model: EngineModel): number | undefined =>
  runningWindow(model) ?? model.meta?.n_ctx_train;

const props = z.object({ default_generation_settings: z.object({ n_ctx: z.int().positive() }) });

/** The window of a running llama.cpp server, from its `/props`. Its list of models has the window that the model was trained for. */
export const windowInProps = (json: unknown): number | undefined =>
  props.safeParse(json).data?.default_generation_settings.n_ctx;

/** The window of the running server, where it tells one. The window of the model itself may be longer. */
export const runningWindow = ({ max_model_len, meta, context_length }: EngineModel): number | undefined =>
  max_model_len ?? meta?.n_ctx ?? context_length;
