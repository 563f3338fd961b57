import { z } from 'zod';
import { modelId, usd } from './values.ts';

const count = z.int().min(0);
const ms = z.number().min(0);
const share = z.number().min(0).max(1);
const service = z.string().meta({ description: 'Which service tells it.', example: 'http://127.0.0.1:9090' });

/** A condition of an object of the catalog, as in the status of a custom resource. */
const condition = z
  .object({
    type: z.string().meta({ example: 'Listed' }),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string(),
    message: z.string(),
  })
  .meta({ id: 'Condition' });

/** A route of a model, as one service sees it. For admins. */
const modelRoute = z
  .object({
    service,
    route: z.string().meta({ example: 'qwen/qwen3-8b@vllm-a' }),
    backend: z.string(),
    engine: z.string(),
    upstream_model: z.string(),
    weight: count,
    state: z.enum(['available', 'full', 'ejected', 'probe', 'invalid-structure', 'structure-probe', 'last-resort']),
    success: share.meta({ description: 'Share of its attempts that succeeded lately.' }),
    first_output_ms: ms.nullable(),
    first_output_p95_ms: ms.nullable(),
    token_ms: ms.nullable().meta({ description: 'Time per token of a stream.' }),
    in_flight: count,
    capacity: count.nullable().meta({ description: 'Attempts at a time; null: no limit.' }),
    endpoints: count.meta({ description: 'Those that may take requests.' }),
    ejected: z.array(z.string()).meta({ description: 'Endpoints that get no requests of this route.' }),
  })
  .meta({ id: 'ModelRoute', description: 'One model on one backend.' });
export type ModelRoute = z.infer<typeof modelRoute>;

/** An entry of the catalog. */
export const model = z
  .object({
    id: modelId,
    listed: z.boolean().meta({ description: 'Whether callers see it under `/v1/models`.' }),
    state: z
      .enum(['available', 'degraded', 'unavailable'])
      .meta({ description: '`degraded`: listed, and some route or service is not as it should be.' }),
    reason: z.string().nullable().meta({ description: 'Why it is not available, in words; null when it is.' }),
    owned_by: z.string().nullable(),
    context_length: count.nullable(),
    input_modalities: z.array(z.enum(['text', 'image'])),
    reasoning: z.object({ mode: z.enum(['None', 'Optional', 'Always']), efforts: z.array(z.string()) }).nullable(),
    pricing: z
      .object({ prompt: usd, completion: usd, input_cache_read: usd })
      .nullable()
      .meta({ description: 'USD per token.' }),
    availability: share.nullable().meta({ description: 'Share of its requests that were served; null: too few.' }),
    min_availability: share.nullable().meta({ description: 'Its service level.' }),
    tokens_per_second_p50: z.number().min(0).nullable(),
    first_token_ms_p50: ms.nullable(),
    conditions: z.array(condition).meta({ description: 'Empty for members.' }),
    routes: z.array(modelRoute).nullable().meta({ description: 'Null for members.' }),
  })
  .meta({ id: 'Model', description: 'A model as callers see it, and why it is not listed where it is not.' });
export type Model = z.infer<typeof model>;

/** Whether the services could be asked: what is live is known to them alone. */
const services = z
  .array(
    z
      .object({
        service,
        answers: z.boolean(),
        problem: z.string().nullable().meta({ description: 'Why it does not answer.' }),
      })
      .meta({ id: 'ServiceAnswer' }),
  )
  .meta({ description: 'Whom the portal asked. Where none answers, `data` is empty because nothing is known.' });

export const modelList = z
  .object({ services, data: z.array(model), next_cursor: z.null() })
  .meta({ id: 'ModelList', description: 'The whole catalog.' });
export type ModelList = z.infer<typeof modelList>;

/** Serving capacity, as one service sees it. */
export const backend = z
  .object({
    service,
    name: z.string(),
    engine: z.string().nullable(),
    conditions: z.array(condition).meta({ description: 'Accepted, Programmed, Healthy.' }),
    in_flight: count,
    capacity: count.nullable().meta({ description: 'Attempts at a time; null: no limit.' }),
    endpoints: z
      .object({ total: count, healthy: count, ejected: count, unhealthy: count })
      .nullable()
      .meta({ description: 'Null: Envoy does not have the backend.' }),
    failing: z.array(z.object({ endpoint: z.string(), why: z.string() })),
  })
  .meta({ id: 'Backend', description: 'One engine deployment.' });
export type Backend = z.infer<typeof backend>;

export const backendList = z
  .object({ services, data: z.array(backend), next_cursor: z.null() })
  .meta({ id: 'BackendList', description: 'All backends, once for each service.' });
export type BackendList = z.infer<typeof backendList>;
