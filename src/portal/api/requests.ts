import { z } from 'zod';
import { shownRequestSchema } from '../../core/request-fields.ts';
import { outcomeKinds } from '../../core/settled-request.ts';
import { storySchema } from '../../core/story.ts';
import { givenMoment, keyId, modelId, pageOf, pageQuery } from './values.ts';

/** `GET /requests`. */
export const requestsQuery = pageQuery.extend({
  workspace: z.string().optional().meta({ description: 'Only those of this workspace, by id or name.' }),
  key: keyId.optional().meta({ description: 'Only those with this key.' }),
  model: modelId.optional().meta({ description: 'Only those of this model.' }),
  outcome: z.enum(outcomeKinds).optional().meta({ description: 'Only those with this outcome.' }),
  from: givenMoment.optional().meta({ description: 'Only those that started at this moment or later.' }),
  to: givenMoment.optional().meta({ description: 'Only those that started before this moment.' }),
});

/** A settled request, as `weir usage --requests --json` prints it. Counts, ids, names and times; never content. */
export const request = shownRequestSchema.meta({
  ...{ id: 'Request', description: 'A settled request. Its content is not stored.' },
});
export type RequestObject = z.infer<typeof request>;

export const requestPage = pageOf(request, { id: 'RequestPage', of: 'requests, newest first' });

const forMembers = 'null for members';
const { plan, attempts: toldAttempts } = storySchema.shape;
const attempt = toldAttempts.unwrap().element;

/** How a request was served. Members see numbers in place of routes, and no names of backends and endpoints. */
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
export type RequestStoryObject = z.infer<typeof requestStory>;

/** `GET /requests/{id}`: the row of the ledger and, for recent requests, the story that a service remembers. */
export const requestDetail = z
  .object({
    request: request
      .nullable()
      .meta({ description: 'Null when nothing was settled: the request was refused, or has not ended.' }),
    story: requestStory.nullable().meta({ description: 'Null when no service remembers it.' }),
    matches: z
      .array(storySchema.pick({ id: true, started_at: true, model: true, outcome: true }).meta({ id: 'RequestMatch' }))
      .meta({
        description:
          'Where an `x-request-id` was asked for: the requests that were sent with it, newest first. The newest is the one shown. Empty where the id of a request was asked for.',
      }),
  })
  .meta({ id: 'RequestDetail', description: 'A request and its story.' });
export type RequestDetailObject = z.infer<typeof requestDetail>;
