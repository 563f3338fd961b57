import { z } from 'zod';
import { listedProblemSchema } from '../../control/core/problem.ts';
import { listedRequest } from './requests.ts';
import { moment, usd, workspaceId } from './values.ts';

const endedKinds = ['session', 'replaced', 'portal'] as const;
export type EndedKind = (typeof endedKinds)[number];

/** The events of `GET /events`, by the name in their `event:` line. */
export const portalEvents = {
  /** A request was settled or refused. */
  request: listedRequest,
  /** Sent when a balance changed, and when the stream begins. */
  balance: z
    .object({ workspace_id: workspaceId, workspace: z.string(), balance: usd })
    .meta({ id: 'BalanceEvent', description: 'The balance of a workspace.' }),
  /** Sent when the list of problems changed, and when the stream begins. */
  health: z
    .object({
      at: moment,
      problems: z
        .array(listedProblemSchema)
        .meta({ description: 'The most urgent first; members get only those of models.' }),
    })
    .meta({ id: 'HealthEvent', description: 'The current problems; empty when there are none.' }),
  /** Events were dropped because the reader was slow. Pages then read their data again. */
  missed: z.object({ events: z.int().min(1) }).meta({ id: 'MissedEvent' }),
  /** The session has ended, and the stream with it. */
  ended: z
    .object({
      kind: z.enum(endedKinds).meta({
        description:
          'session: the session has ended; replaced: newer streams of the session or person took its place; portal: the portal stops',
      }),
      reason: z.string(),
    })
    .meta({ id: 'EndedEvent' }),
} as const;

export type PortalEventName = keyof typeof portalEvents;
export type PortalEvent = {
  readonly [Name in PortalEventName]: { readonly name: Name; readonly data: z.infer<(typeof portalEvents)[Name]> };
}[PortalEventName];
