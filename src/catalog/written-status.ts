import * as z from 'zod';
import type { Condition } from './resources/status.ts';

/** The status of an object as somebody wrote it, as far as it is understood. */
export interface WrittenStatus {
  readonly conditions: readonly Condition[];
  /** All of it that we write, to compare with what we would write. */
  readonly text: string;
}

const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  observedGeneration: z.number(),
  lastTransitionTime: z.string(),
  reason: z.string(),
  message: z.string(),
});
const written = z.object({
  observedGeneration: z.number().optional(),
  conditions: z.array(condition).default([]),
  routes: z.object({ ready: z.number(), total: z.number() }).optional(),
  retireAt: z.string().nullish(),
  announcedAt: z.string().nullish(),
  announcedFor: z.string().nullish(),
});

const nothing: WrittenStatus = { conditions: [], text: '' };
const known = new WeakMap<object, WrittenStatus>();

/** Reads a status; one that is not understood counts as none, and is written anew. Each is read once. */
export function readStatus(status: unknown): WrittenStatus {
  if (typeof status !== 'object' || status === null) return nothing;
  const before = known.get(status);
  if (before !== undefined) return before;
  const { data } = written.safeParse(status);
  const read = data === undefined ? nothing : { conditions: data.conditions, text: textOf(data) };
  known.set(status, read);
  return read;
}

function textOf({ observedGeneration, conditions, routes, ...dates }: z.output<typeof written>): string {
  const { retireAt = null, announcedAt = null, announcedFor = null } = dates;
  const facts = conditions.map((one) => [
    ...[one.type, one.status, one.reason, one.message],
    ...[one.observedGeneration, one.lastTransitionTime],
  ]);
  return JSON.stringify([observedGeneration, facts, routes?.ready, routes?.total, retireAt, announcedAt, announcedFor]);
}
