import { z } from 'zod';
import { problemSchema } from '../../core/problem.ts';
import { request } from './requests.ts';
import { moment, usd, workspaceId } from './values.ts';

const endedKinds = ['session', 'replaced', 'portal'] as const;
export type EndedKind = (typeof endedKinds)[number];

/** What changes while somebody looks: the events of `GET /events`, by the name in their `event:` line. */
export const portalEvents = {
  /** A request was settled. */
  request,
  /** A balance has changed, or the stream begins. */
  balance: z
    .object({ workspace_id: workspaceId, workspace: z.string(), balance: usd })
    .meta({ id: 'BalanceEvent', description: 'What is left in a workspace.' }),
  /** What is wrong now has changed, or the stream begins. */
  health: z
    .object({
      at: moment,
      problems: z.array(problemSchema).meta({ description: 'The most urgent first; for members those of models.' }),
    })
    .meta({ id: 'HealthEvent', description: 'What is wrong now; empty when nothing is.' }),
  /** Events were left out, because the reader was slow: what is shown should be read anew. */
  missed: z.object({ events: z.int().min(1) }).meta({ id: 'MissedEvent' }),
  /** The session has ended, and the stream with it. */
  ended: z
    .object({
      kind: z.enum(endedKinds).meta({
        description:
          'session: it is over; replaced: newer streams of the session or person took its place; portal: it ends',
      }),
      reason: z.string(),
    })
    .meta({ id: 'EndedEvent' }),
} as const;

export type PortalEventName = keyof typeof portalEvents;
export type PortalEvent = {
  readonly [Name in PortalEventName]: { readonly name: Name; readonly data: z.infer<(typeof portalEvents)[Name]> };
}[PortalEventName];
