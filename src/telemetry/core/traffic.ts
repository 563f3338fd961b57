import * as z from 'zod';
import type { RequestEnd } from './request-end.ts';

/** What `weir top` groups the requests of the last minute by. */
export const trafficGroups = ['key', 'workspace', 'model', 'address', 'outcome'] as const;
export type TrafficGroup = (typeof trafficGroups)[number];

export const trafficGroup = z.enum(trafficGroups);

const count = z.number().int().min(0);

export const trafficRowSchema = z.object({
  name: z.string().nullable().meta({
    description: 'Id of a key or a workspace, model, address or outcome; null: unknown, or of the many others.',
  }),
  requests: count.meta({ description: 'Requests that ended in the last minute.' }),
  refused: z.record(z.string(), count).meta({ description: 'Refused requests, by error code.' }),
  would_refuse: z.record(z.string(), count).default({}).meta({
    description: 'Requests that a limit would have refused if it were enforced, by limit.',
  }),
  failed: count.meta({ description: 'Requests that failed after dispatch.' }),
  prompt_tokens: count,
  completion_tokens: count,
  cost: z.string().meta({ description: 'In USD.', examples: ['0.0125'] }),
  in_flight: count,
});
export type TrafficRow = Readonly<z.infer<typeof trafficRowSchema>>;

/** The answer of one service to `GET /internal/top/GROUP`. */
export const trafficReportSchema = z.object({ rows: z.array(trafficRowSchema) });

/** The most requests first, then the most in flight. */
export const byTraffic = (a: TrafficRow, b: TrafficRow): number => b.requests - a.requests || b.in_flight - a.in_flight;

/** The requests of the last minute of one service. */
export interface RecentTraffic {
  readonly ended: (end: RequestEnd) => void;
  /** The rows with the most requests. */
  readonly read: (group: TrafficGroup) => readonly TrafficRow[];
}
