import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type ListedProblem, problemId } from '../../control/core/problem.ts';
import { sees } from '../../books/core/rights.ts';
import { type PortalEvent, portalEvents } from '../api/events.ts';
import { callerOf } from '../authenticate.ts';
import { type CallerIdentity, identityOfSession, provenIdentity } from '../callers.ts';
import { type EventSubject, oncePerEvent, type Reader } from '../event-hub.ts';
import type { Portal } from '../portal.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { hiddenFromMembers } from '../request-list.ts';

/** Most streams at once: each holds a connection. */
const maxReaders = 1_000;

const { request, balance, health, missed, ended } = portalEvents;
const described = z.union([request, balance, health, missed, ended]).meta({
  description: `Server-sent events, for as long as the session lasts: ${Object.keys(portalEvents).join(', ')}. Each has one line of data, JSON.`,
});

/** The stream of live events. */
export function eventRoutes(app: FastifyInstance, portal: Portal): void {
  app.get(
    '/api/v1/events',
    {
      // A HEAD request would open a stream that never ends.
      exposeHeadRoute: false,
      schema: {
        tags: ['events'],
        summary: 'New requests, balances and health as they happen',
        response: {
          200: { description: 'Events.', content: { 'text/event-stream': { schema: described } } },
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      if (portal.events.readers() >= maxReaders) {
        throw refusal('pages_busy', {}, { retryAfterSeconds: 10 });
      }
      let current: CallerIdentity = caller;
      const reader: Reader = {
        ...{ sessionHash: caller.session?.hash, expiresAt: caller.session?.expiresAt, person: provenIdentity(caller) },
        allow: (event, about) => allowed(event, about, current),
        renew: (session) => void (current = identityOfSession(session)),
      };
      return reply
        .type('text/event-stream; charset=utf-8')
        .header('x-accel-buffering', 'no')
        .send(portal.events.open(reader, await portal.feed.first()));
    },
  );
}

/** The part of an event that a caller may see. Admins: all. Members: events of their workspaces, without routes, services and backends. */
function allowed(event: PortalEvent, about: EventSubject, caller: CallerIdentity): PortalEvent | undefined {
  const { workspaceId } = about;
  if (caller.role === 'admin') return event;
  if (workspaceId !== undefined && !sees(caller.grant, workspaceId)) return undefined;
  // A request without an accepted key is of no workspace.
  if (workspaceId === undefined && event.name === 'request') return undefined;
  return forMembers(event, about);
}

/** The event as members see it. */
const forMembers = oncePerEvent((event, { memberReason = null }: EventSubject): PortalEvent => {
  switch (event.name) {
    case 'request':
      return { name: 'request', data: { ...event.data, ...hiddenFromMembers, reason: memberReason } };
    case 'health':
      return { name: 'health', data: { ...event.data, problems: event.data.problems.flatMap(ofModels) } };
    case 'balance':
    case 'missed':
    case 'ended':
      return event;
  }
});

/** A problem as members see it: the affected models, without details. */
function ofModels({ model, models = [], kind, since, severity }: ListedProblem): readonly ListedProblem[] {
  const ids = new Set([...(model === null ? [] : [model]), ...models]);
  const title = 'is not served as usual';
  const problem = 'It is not served as it should be.';
  const action = 'Try again later, or take another model.';
  return [...ids].map((id) => {
    const object = `Model/${id}`;
    return { id: problemId({ object, kind }), object, kind, model: id, since, severity, title, problem, action };
  });
}
