/**
 * The catalog as one service sees it: which models are listed and why, and the state of routes, backends and endpoints.
 * Served on the ops port for the portal. Names, counts, states and times; never a credential.
 */
import * as z from 'zod';
import { endpointFaults } from '../../core/observed-catalog.ts';
import { modalities, modelKinds, reasoningModes } from '../../core/catalog.ts';
import { parameterNames } from '../../core/parameters.ts';

const count = z.number().int().min(0);
const ms = z.number().min(0);
const share = z.number().min(0).max(1);

/** The statuses that Kubernetes has for a condition. */
export const conditionStatuses = ['True', 'False', 'Unknown'] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

/** A condition, as in the status of a custom resource. Objects from a folder have the same conditions. */
const conditionSchema = z
  .object({
    type: z.string(),
    status: z.enum(conditionStatuses),
    reason: z.string(),
    message: z.string(),
  })
  .meta({ id: 'Condition' });

const endpointCountsSchema = z
  .object({
    total: count,
    healthy: count.meta({ description: 'endpoints that get requests' }),
    ejected: count.meta({ description: 'endpoints that get no requests because earlier attempts failed or were slow' }),
    unhealthy: count.meta({ description: 'endpoints that fail the health check' }),
  })
  .meta({ id: 'EndpointCounts' });

/** Most endpoints of one backend that are listed by name; the others are only counted. */
export const maxNamedEndpoints = 20;

export const liveBackendSchema = z
  .object({
    name: z.string(),
    engine: z.string().nullable().meta({ description: 'null: the object is not in use' }),
    conditions: z.array(conditionSchema).meta({ description: 'Accepted, Programmed, Healthy' }),
    in_flight: count,
    capacity: count.nullable().meta({ description: 'attempts at a time; null: no limit' }),
    endpoints: endpointCountsSchema.nullable().meta({ description: 'null: Envoy does not have the backend' }),
    failing: z
      .array(z.object({ endpoint: z.string(), why: z.enum(endpointFaults) }))
      .meta({ description: `up to ${maxNamedEndpoints} endpoints that get no requests` }),
    serving: z
      .array(z.string())
      .default([])
      .meta({ description: `up to ${maxNamedEndpoints} endpoints that get requests` }),
  })
  .meta({ id: 'LiveBackend' });

export const liveRouteSchema = z
  .object({
    route: z.string(),
    backend: z.string(),
    engine: z.string(),
    upstream_model: z.string(),
    weight: count,
    state: z
      .enum([
        ...['available', 'full', 'ejected', 'probe', 'invalid-structure', 'structure-probe', 'last-resort'],
        'other-vectors',
      ] as const)
      .meta({ description: 'whether a stream without tools would be sent there now' }),
    success: share.meta({ description: 'share of its attempts that succeeded lately' }),
    first_output_ms: ms.nullable().meta({ description: 'of streams, lately' }),
    first_output_p95_ms: ms.nullable(),
    token_ms: ms.nullable().meta({ description: 'time per token of a stream' }),
    in_flight: count.meta({ description: 'in-flight attempts on its backend, by all routes' }),
    capacity: count.nullable(),
    endpoints: count.meta({ description: 'endpoints that may take requests, as seen by the service' }),
    ejected: z
      .array(z.string())
      .meta({ description: 'endpoints that get no requests of this route: earlier ones failed' }),
  })
  .meta({ id: 'LiveRoute' });

export const liveModelSchema = z
  .object({
    id: z.string(),
    aliases: z.array(z.string()).default([]).meta({ description: 'other names that requests may use' }),
    listed: z.boolean(),
    conditions: z.array(conditionSchema).meta({
      description: 'Accepted, Servable, Priced, Listed, Retiring: the first that is not as it should be says why',
    }),
    owned_by: z.string().nullable(),
    kind: z
      .enum(modelKinds)
      .default('chat')
      .meta({ description: 'what it makes: answers, vectors of texts, or an order' }),
    dimensions: count
      .nullable()
      .default(null)
      .meta({ description: 'length of its vectors; null: it returns no vectors' }),
    context_length: count.nullable(),
    input_modalities: z.array(z.enum(modalities)),
    reasoning: z.object({ mode: z.enum(reasoningModes), efforts: z.array(z.string()) }).nullable(),
    parameters: z
      .array(z.enum(parameterNames))
      .default([])
      .meta({ description: 'optional parameters of requests that one of its routes supports' }),
    tools: z.boolean().default(false).meta({ description: 'whether one of its routes can call tools, on a stream' }),
    pricing: z
      .object({ prompt: z.string(), completion: z.string(), input_cache_read: z.string() })
      .nullable()
      .meta({ description: 'USD per token, exact decimals; null: the object is not in use' }),
    availability: share
      .nullable()
      .meta({ description: 'share of its requests that were served; null: too few requests to judge' }),
    min_availability: share.nullable().meta({ description: 'its service level' }),
    tokens_per_second_p50: z.number().min(0).nullable(),
    first_token_ms_p50: ms.nullable(),
    routes: z.array(liveRouteSchema),
  })
  .meta({ id: 'LiveModel' });

/** The answer to `GET /internal/catalog`. */
export const liveCatalogSchema = z
  .object({
    /** Like `process` in `storyPageSchema`. */
    process: z.string(),
    taken_at: z.iso.datetime(),
    ready: z.boolean(),
    models: z.array(liveModelSchema),
    backends: z.array(liveBackendSchema),
    problems: z
      .array(z.object({ where: z.string(), field: z.string(), message: z.string() }))
      .meta({ description: 'what is wrong with objects of the catalog, for their authors' }),
  })
  .meta({ id: 'LiveCatalog' });

export type LiveCatalog = Readonly<z.infer<typeof liveCatalogSchema>>;
export type LiveModel = LiveCatalog['models'][number];
export type LiveBackend = LiveCatalog['backends'][number];
export type LiveRoute = LiveModel['routes'][number];
