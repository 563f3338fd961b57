import { z } from 'zod';
import { listedProblemSchema } from '../../control/core/problem.ts';
import { liveBackendSchema, liveModelSchema, liveRouteSchema } from '../../control/core/live-catalog.ts';
import { modelId, usd } from './values.ts';

const service = z.string().meta({ description: 'The service that reports it.', example: 'http://127.0.0.1:9090' });

/** A route of a model, as one service sees it. For admins. */
const modelRoute = liveRouteSchema
  .extend({ service })
  .meta({ id: 'ModelRoute', description: 'One model on one backend.' });
export type ModelRouteObject = z.infer<typeof modelRoute>;

/** An entry of the catalog, as all services together see it. */
export const model = liveModelSchema
  .extend({
    id: modelId,
    listed: z.boolean().meta({ description: 'Whether callers see it under `/v1/models`.' }),
    state: z
      .enum(['available', 'degraded', 'unavailable'])
      .meta({ description: '`degraded`: listed, but a route or a service has a problem.' }),
    reason: z.string().nullable().meta({ description: 'Why it is not available; null when it is.' }),
    pricing: z
      .object({ prompt: usd, completion: usd, input_cache_read: usd })
      .nullable()
      .meta({ description: 'USD per token.' }),
    conditions: liveModelSchema.shape.conditions.meta({ description: 'Empty for members.' }),
    routes: z.array(modelRoute).nullable().meta({ description: 'Null for members.' }),
  })
  .meta({ id: 'Model', description: 'A model as callers see it; if it is not listed, why.' });
export type ModelObject = z.infer<typeof model>;

/** Whether each service answered: live data comes from the services alone. */
export const servicesAsked = z
  .array(
    z
      .object({
        service,
        answers: z.boolean(),
        problem: z.string().nullable().meta({ description: 'Why it does not answer.' }),
      })
      .meta({ id: 'ServiceAnswer' }),
  )
  .meta({
    description: 'The services that the portal asked. When none answers, `data` is empty because nothing is known.',
  });

export const modelList = z
  .object({ services: servicesAsked, data: z.array(model), next_cursor: z.null() })
  .meta({ id: 'ModelList', description: 'The whole catalog.' });
export type ModelListObject = z.infer<typeof modelList>;

/** The engines that serve a model, as one service sees them. */
export const backend = liveBackendSchema
  .extend({
    service,
    cause: z
      .string()
      .nullable()
      .meta({ description: 'Why it is not healthy, in at most six words; null: it is, or no cause is known.' }),
  })
  .meta({ id: 'Backend', description: 'One engine deployment.' });
export type BackendObject = z.infer<typeof backend>;

export const backendList = z
  .object({ services: servicesAsked, data: z.array(backend), next_cursor: z.null() })
  .meta({ id: 'BackendList', description: 'All backends, once for each service.' });
export type BackendListObject = z.infer<typeof backendList>;

export const problemList = z
  .object({ services: servicesAsked, data: z.array(listedProblemSchema), next_cursor: z.null() })
  .meta({ id: 'ProblemList', description: 'All current problems, the most urgent first; empty when there are none.' });
