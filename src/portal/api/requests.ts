import { z } from 'zod';
import { storySchema } from '../../core/story.ts';
import { givenMoment, keyId, modelId, moment, pageOf, pageQuery, usd } from './values.ts';

const outcome = z.enum(['completed', 'cancelled', 'interrupted', 'incomplete', 'failed', 'service-lost']);

/** `GET /requests`. */
export const requestsQuery = pageQuery.extend({
  workspace: z.string().optional().meta({ description: 'Only those of this workspace, by id or name.' }),
  key: keyId.optional().meta({ description: 'Only those with this key.' }),
  model: modelId.optional().meta({ description: 'Only those of this model.' }),
  outcome: outcome.optional().meta({ description: 'Only those that ended so.' }),
  from: givenMoment.optional().meta({ description: 'Only those that started at this moment or later.' }),
  to: givenMoment.optional().meta({ description: 'Only those that started before this moment.' }),
});

const count = z.int().min(0);

/** A settled request, as `weir usage --requests --json` prints it. Counts, ids, names and times; never content. */
export const request = z
  .object({
    id: z.string().meta({ example: 'chatcmpl-AZgx2mY3cQWm0v0l6m2sQw' }),
    correlation_id: z.string().meta({ description: 'The `x-request-id` of the caller.' }),
    workspace: z.string().meta({ description: 'Name of the workspace.' }),
    key: keyId,
    model: modelId,
    route: z.string().nullable().meta({ description: 'Which route delivered; null when none did, and for members.' }),
    surface: z.enum(['chat', 'messages']),
    stream: z.boolean(),
    outcome,
    prompt_tokens: count,
    completion_tokens: count,
    cached_tokens: count.nullable(),
    reasoning_tokens: count.nullable(),
    estimated: z.boolean(),
    counted_by: z.enum(['engine', 'tokenizer', 'estimate']),
    web_searches: count.nullable(),
    cost: usd,
    attempts: count,
    routes: count.nullable(),
    started_at: moment,
    first_token_ms: count.nullable(),
    duration_ms: count,
  })
  .meta({ id: 'Request', description: 'A settled request, without its content, which nobody has kept.' });
export type Request = z.infer<typeof request>;

export const requestPage = pageOf(request, { id: 'RequestPage', of: 'requests, newest first' });

const forMembers = 'null for members';
const { plan, attempts: toldAttempts } = storySchema.shape;
const attempt = toldAttempts.unwrap().element;

/** How a request was served, as it is told to the one who asks: members see no name of a backend or an endpoint, and routes are numbered. */
export const requestStory = storySchema
  .extend({
    plan: plan.meta({ description: forMembers }),
    attempts: z
      .array(
        attempt
          .extend({
            backend: attempt.shape.backend.nullable().meta({ description: forMembers }),
            endpoint: attempt.shape.endpoint.nullable().meta({ description: `address:port; ${forMembers}` }),
          })
          .meta({ id: 'Attempt', description: 'one call to one endpoint' }),
      )
      .nullable(),
  })
  .meta({ id: 'RequestStory', description: 'How one request was served: plan, attempts, waits, bill.' });
export type RequestStory = z.infer<typeof requestStory>;

/** `GET /requests/{id}`: the ledger's row and, for the last requests of the services, how it went. */
export const requestDetail = z
  .object({
    request: request.nullable().meta({ description: 'Null where nothing was settled: refused, or under way.' }),
    story: requestStory.nullable().meta({ description: 'Null when no service remembers it.' }),
    matches: z
      .array(storySchema.pick({ id: true, started_at: true, model: true, outcome: true }).meta({ id: 'RequestMatch' }))
      .meta({
        description:
          'Where an `x-request-id` was asked for: the requests that were sent with it, newest first. The newest is the one shown. Empty where the id of a request was asked for.',
      }),
  })
  .meta({ id: 'RequestDetail', description: 'A request and its story.' });
export type RequestDetail = z.infer<typeof requestDetail>;
