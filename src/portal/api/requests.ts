import { z } from 'zod';
import { errorKinds } from '../../books/core/error-kinds.ts';
import { shownRequestSchema } from '../../books/core/request-fields.ts';
import { surfaces } from '../../core/dialect.ts';
import { outcomeKinds } from '../../core/settled-request.ts';
import { storySchema } from '../../telemetry/core/story.ts';
import { givenMoment, keyId, modelId, pageOf, pageQuery } from './values.ts';

/** How a request of the list ended. `refused`: before anything was settled. */
export const listedOutcomes = [...outcomeKinds, 'refused'] as const;

/** Several outcomes together, which a filter can ask for. */
const outcomeGroups = ['error', 'settled'] as const;

/** The outcomes that a filter asks for. */
export function outcomesOf(asked: RequestsQuery['outcome']): readonly (typeof listedOutcomes)[number][] | undefined {
  if (asked === undefined) return undefined;
  return asked === 'error' ? errorKinds : asked === 'settled' ? outcomeKinds : [asked];
}

/** `GET /requests`. */
export const requestsQuery = pageQuery.extend({
  workspace: z.string().optional().meta({ description: 'Only those of this workspace, by id or name.' }),
  key: keyId.optional().meta({ description: 'Only those with this key.' }),
  model: modelId.optional().meta({ description: 'Only those of this model.' }),
  outcome: z
    .enum([...listedOutcomes, ...outcomeGroups])
    .optional()
    .meta({
      description: `Only those with this outcome. error: ${errorKinds.join(', ')}. settled: all but refused.`,
    }),
  surface: z.enum(surfaces).optional().meta({ description: 'Only those of this surface.' }),
  search: z.string().max(200).optional().meta({
    description:
      'Only the request with this id, or those with this `x-request-id`. The ledger has no index of the latter: without `from`, only the last seven days are searched for it.',
  }),
  from: givenMoment.optional().meta({ description: 'Only requests that started at this moment or later.' }),
  to: givenMoment.optional().meta({ description: 'Only requests that started before this moment.' }),
});
export type RequestsQuery = z.output<typeof requestsQuery>;

/** A settled request in the form of `weir usage --requests --json`. Counts, ids, names and times; never content. */
export const request = shownRequestSchema.meta({
  ...{ id: 'Request', description: 'A settled request. Its content is not stored.' },
});
export type RequestObject = z.infer<typeof request>;

/** A request of the list and of live events: a settled one, or a refused one, which costs nothing. */
export const listedRequest = request
  .extend({
    workspace: request.shape.workspace
      .nullable()
      .meta({ description: 'Null: no key was accepted; only admins see it.' }),
    key: request.shape.key.nullable(),
    model: request.shape.model.nullable().meta({ description: 'Null: the request named none of the catalog.' }),
    outcome: z.enum(listedOutcomes),
    key_name: z.string().nullable().meta({ description: 'Name of the key, where it has one.' }),
    reason: z.string().nullable().meta({
      description:
        'Why it was refused or failed, in words. Null when it was answered, or its caller left. Members see no text about engines.',
      example: '502, every attempt failed, last fault: HTTP 500',
    }),
    refused_in_minute: storySchema.shape.refused_in_minute.unwrap().meta({
      description:
        'Of a refused request: how many requests of the same key, model and code were refused in its minute. Only the first of them is listed. Null in a live event, and for settled requests.',
    }),
  })
  .meta({ id: 'ListedRequest', description: 'A settled or refused request. Its content is not stored.' });
export type ListedRequestObject = z.infer<typeof listedRequest>;

export const requestPage = pageOf(listedRequest, { id: 'RequestPage', of: 'requests, newest first' });

const forMembers = 'null for members';
const { plan, attempts: toldAttempts } = storySchema.shape;
const attempt = toldAttempts.unwrap().element;

/** How a request was served. Members see numbers in place of routes, and no names of backends and endpoints. */
const requestStory = storySchema
  .extend({
    plan: plan.meta({ description: forMembers }),
    attempts: z
      .array(
        attempt
          .extend({
            backend: attempt.shape.backend.nullable().meta({ description: forMembers }),
            endpoint: attempt.shape.endpoint.nullable().meta({ description: `address:port; ${forMembers}` }),
            why_failed: z.string().nullable().meta({ description: 'Why it failed, in words; null: it did not fail.' }),
          })
          .meta({ id: 'Attempt', description: 'one call to one endpoint' }),
      )
      .nullable(),
    why: z.string().nullable().meta({ description: 'Why it was refused or failed, in words; null: it was not.' }),
    action: z.string().nullable().meta({
      description: 'What to do about it, in words; null: nothing. Members see nothing about engines.',
      example: 'Add credit to the workspace, or raise the key budget',
    }),
  })
  .meta({ id: 'RequestStory', description: 'How one request was served: plan, attempts, waits, bill.' });
export type RequestStoryObject = z.infer<typeof requestStory>;

/** `GET /requests/{id}`: the row of the ledger, and the story: of recent requests as a service remembers it. */
export const requestDetail = z
  .object({
    request: request
      .extend({ key_name: listedRequest.shape.key_name })
      .meta({ id: 'NamedRequest', description: 'A settled request, with the name of its key.' })
      .nullable()
      .meta({ description: 'Null when nothing was settled: the request was refused, or has not ended.' }),
    story: requestStory.nullable().meta({ description: 'Without plan, waits and picks when no service remembers it.' }),
    matches: z
      .array(storySchema.pick({ id: true, started_at: true, model: true, outcome: true }).meta({ id: 'RequestMatch' }))
      .meta({
        description:
          'For an `x-request-id`: the requests with it, newest first. The answer shows the newest. Empty for a request id.',
      }),
  })
  .meta({ id: 'RequestDetail', description: 'A request and its story.' });
export type RequestDetailObject = z.infer<typeof requestDetail>;
