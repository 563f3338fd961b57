/**
 * The story of one request, for the people who run the gateway: the portal and `weir explain` show it. Names, counts,
 * codes and times; never content, the text of a key, or text of a caller. Of an engine, only `said` is text. Services write it on their ops
 * port with these schemas, and clients read it with them. Times that end in `_ms` are milliseconds since the request
 * began, unless they are durations.
 */
import * as z from 'zod';
import { causes } from '../../core/cause.ts';
import { surfaces } from '../../core/dialect.ts';
import { engineErrors, faultKinds, refusalCauses } from '../../core/event.ts';
import { failures } from '../../core/failure.ts';
import { reachedLimitSchema, refusingLimits } from '../../core/refusing-limit.ts';
import { firstReasons, leftOutReasons, routeStates } from '../../gateway/core/plan.ts';
import { pickReasons } from '../../core/pool-prompt.ts';
import { shownRequestSchema } from '../../books/core/request-fields.ts';
import { outcomeKinds } from '../../core/settled-request.ts';
import { attemptReasons, attemptSteps } from '../../gateway/core/telemetry.ts';
import { searchErrors } from '../../core/web-search.ts';

const count = z.number().int().min(0);
const ms = z.number().min(0);

const namesOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Object.keys forgets the key type
  z.enum(Object.keys(table) as Name[]);

const outcomeKind = z.enum([...outcomeKinds, 'refused']);

const faultSchema = z
  .object({
    kind: z.enum(faultKinds),
    status: z.number().int().nullable().meta({ description: 'HTTP status of the engine, where there was one' }),
    engine_error: z
      .enum(engineErrors)
      .nullable()
      .meta({ description: 'what the engine’s own error says, in the gateway’s words' }),
    about: z.string().nullable().meta({ description: 'the request field that the engine’s error names' }),
    envoy_flags: z
      .string()
      .regex(/^[A-Z,]+$/)
      .nullable()
      .meta({
        description:
          'Envoy’s response flags, where the call got no answer: `UH` when no endpoint passes its health check',
      }),
    cause: namesOf(causes).nullable().default(null).meta({
      description:
        'why it failed, by the table of causes in docs/operate/problems.md; null: a version before the table wrote it',
    }),
    said: z.string().optional().meta({
      description:
        'what the engine said, without what it repeated of the request; members and the ledger never have it',
    }),
  })
  .meta({ id: 'AttemptFault', description: 'why an attempt failed' });

const pickSchema = z
  .object({
    why: z.enum(pickReasons).meta({
      description:
        'only: there was no other endpoint; holder: it has most of the prompt in its cache; sooner: it answers sooner than one that has more of it; untried, least-work: no endpoint has any of the prompt, and this one had no request yet, or has least to do; explored: it had no request for long',
    }),
    held_tokens: count.meta({ description: 'tokens of the prompt that were expected in its cache' }),
    expected_first_token_ms: ms,
  })
  .meta({ id: 'EndpointPick', description: 'why Weir picked the attempt’s endpoint' });

/** The ledger stores the position, so a new end goes to the end. */
export const attemptEnds = ['complete', 'failed', 'beaten', 'aborted'] as const;

const attemptSchema = z.object({
  route: z.string(),
  backend: z.string(),
  endpoint: z.string().meta({ description: 'address:port' }),
  reason: z.enum(attemptReasons),
  step: z.enum(attemptSteps).meta({
    description: 'seen from the attempt before: on another endpoint of the same backend, or on another route',
  }),
  pick: pickSchema.nullable().default(null).meta({
    description: 'null: the endpoint was not picked by its cache, its queue and its speed',
  }),
  began_ms: ms,
  first_output_ms: ms.nullable(),
  ended_ms: ms.nullable(),
  end: z
    .enum(attemptEnds)
    .nullable()
    .meta({ description: 'null while the attempt runs; beaten: one that began later was faster' }),
  fault: faultSchema.nullable(),
  output_tokens: count.nullable().meta({ description: 'as far as the engine has counted them' }),
});

const plannedRouteSchema = z
  .object({
    route: z.string(),
    state: z.enum(routeStates),
    chance: z.number().min(0).max(1).meta({ description: 'its share of the chances to be tried first, by its score' }),
    success: z.number().min(0).max(1).meta({ description: 'share of its attempts that succeeded lately' }),
    validity: z.number().min(0).max(1).meta({ description: 'share of its answers that had the structure asked for' }),
    in_flight: count.meta({ description: 'in-flight attempts on its backend' }),
    capacity: count.nullable(),
    expected_first_output_ms: ms.nullable(),
  })
  .meta({ id: 'PlannedRoute', description: 'a route that could serve the request, as it was when it was planned' });

const leftOutSchema = z
  .object({
    route: z.string(),
    why: z.enum(leftOutReasons).meta({
      description:
        'cannot-serve: it lacks what the request needs; full: all its slots are taken; ejected: attempts on it failed or were slow; invalid-structure: its answers have been missing the structure; other-vectors: its vectors are others than those of the model, or not known',
    }),
    lacks: z.array(z.string()).meta({ description: 'the request fields that it cannot serve' }),
  })
  .meta({ id: 'LeftOutRoute', description: 'a route of the model that was not in the plan' });

const planSchema = z
  .object({
    first: z.enum(firstReasons).nullable().meta({
      description:
        'why the first route is the first: the only one; no route with a weight was left; to find out whether it is well again; it is the route of this conversation; by its chance; of the routes with its weight, its endpoint answers soonest. null: no route was left',
    }),
    routes: z.array(plannedRouteSchema).meta({ description: 'in the order in which they are tried' }),
    left_out: z.array(leftOutSchema),
  })
  .meta({ id: 'RequestPlan' });

const searchSchema = z
  .object({
    provider: z.string(),
    result: z.enum(['found', ...searchErrors]),
    began_ms: ms,
    duration_ms: ms,
  })
  .meta({ id: 'RequestSearch', description: 'one search of the web' });

const { counted_by: countedBy } = shownRequestSchema.shape;

const billSchema = shownRequestSchema
  .pick({
    ...({ prompt_tokens: true, completion_tokens: true, cached_tokens: true, reasoning_tokens: true } as const),
    ...({ web_searches: true, cost: true } as const),
  })
  .extend({
    counted_by: countedBy.nullable().meta({ description: 'null: no engine answered, and there was nothing to count' }),
  })
  .meta({ id: 'RequestBill' });

const waitsSchema = z
  .object({
    admission: ms.nullable().meta({ description: 'until key, limits and balance were checked' }),
    body: ms.nullable().meta({ description: 'until the body had arrived and was read' }),
    plan: ms.nullable().meta({ description: 'until the routes were chosen, the prompt counted and its cost reserved' }),
    record: ms.nullable().meta({ description: 'until the bill was durable, at the end' }),
  })
  .meta({ id: 'RequestWaits', description: 'durations in milliseconds; null: the request did not come so far' });

const failureSchema = z
  .object({
    code: namesOf(failures),
    status: z.number().int(),
    about: z.array(z.string()).meta({ description: 'the request fields that the error names' }),
    limit: namesOf(refusingLimits).nullable().default(null).meta({
      description: 'the limit that refused the request; null: no limit did, or an older version recorded it',
    }),
    reached: z.array(reachedLimitSchema).optional().meta({
      description: 'the budgets or the limits in tokens behind `limit`; absent: another limit, or not known',
    }),
  })
  .meta({ id: 'RequestFailure', description: 'the error that the caller got' });

export const storySchema = z.object({
  id: z.string(),
  correlation_id: z.string().nullable().meta({ description: 'the x-request-id of the answer' }),
  source: z.enum(['service', 'ledger']).meta({
    description: 'ledger: the services have forgotten the request, and plan, attempts and waits are not known',
  }),
  workspace: z.string().nullable().meta({ description: 'id of the workspace; null: no key was accepted' }),
  key: z.string().nullable().meta({ description: 'id of the key' }),
  model: z.string().nullable().meta({ description: 'null: the request named none of the catalog' }),
  surface: z.enum(surfaces),
  stream: z.boolean().nullable(),
  started_at: z.iso.datetime(),
  first_output_ms: ms.nullable().meta({ description: 'until the first output was handed to the caller' }),
  duration_ms: ms.nullable().meta({ description: 'null while the request runs' }),
  outcome: outcomeKind.nullable().meta({ description: 'null while the request runs' }),
  failure: failureSchema.nullable(),
  refused_for: z
    .enum(refusalCauses)
    .nullable()
    .meta({ description: 'why no route answered, where the routes report a reason' }),
  route: z.string().nullable().meta({ description: 'the route that delivered last' }),
  attempt_count: count,
  hedge_count: count.nullable(),
  failover_count: count.nullable(),
  resume_count: count.nullable(),
  waits: waitsSchema.nullable(),
  plan: planSchema.nullable(),
  attempts: z.array(attemptSchema).nullable(),
  searches: z.array(searchSchema).nullable(),
  bill: billSchema.nullable().meta({ description: 'null: nothing was dispatched' }),
  refused_in_minute: count.nullable().default(null).meta({
    description:
      'of a refused request in the ledger: how many requests of the same key, model and code were refused in its minute',
  }),
});

export type Story = Readonly<z.infer<typeof storySchema>>;

/**
 * The answer to `GET /internal/requests/ID`: only the request with that id, or all requests with that correlation id,
 * newest first.
 */
export const foundStoriesSchema = z.object({ requests: z.array(storySchema).min(1) });

/**
 * An ended request as the ledger has it, with the id of its workspace in place of the name. Null: nothing was settled.
 */
const endedStorySchema = storySchema.extend({ settled: shownRequestSchema.nullable() });
export type EndedStory = Readonly<z.infer<typeof endedStorySchema>>;

/** An ended request with its number. Each request that ends in this process gets the next number, from 1 on. */
export const numberedStorySchema = endedStorySchema.extend({ seq: count });
export type NumberedStory = Readonly<z.infer<typeof numberedStorySchema>>;

/**
 * A page of requests that ended, oldest first: one event of `GET /internal/events`.
 */
export const storyPageSchema = z.object({
  /** Identifies the process. After a restart it is another one, and `seq` begins at 1 again. */
  process: z.string(),
  /** The value of `after` for the next call. */
  next_after: count,
  /** Whether requests with higher numbers already existed. */
  has_more: z.boolean(),
  /** The number of requests after SEQ that have been forgotten. */
  missed: count,
  requests: z.array(z.unknown()),
});
export type StoryPage = Readonly<Omit<z.infer<typeof storyPageSchema>, 'requests'>> & {
  readonly requests: readonly NumberedStory[];
};
