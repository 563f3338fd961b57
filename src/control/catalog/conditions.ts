import * as z from 'zod';
import type { ObservedCatalog } from '../../core/observed-catalog.ts';
import type { Compilation, ObjectProblem } from './compile.ts';
import type { Notice } from './notice.ts';
import { type Condition, maxMessageLength } from './resources/status.ts';
import { conditionStatuses } from '../core/live-catalog.ts';

/** The facts that the status of every object is computed from. */
export interface StatusFacts {
  readonly compilation: Compilation;
  /** The observations of all replicas that are alive. */
  readonly replicas: readonly ObservedCatalog[];
  readonly now: number;
}

/** The new status of an object, before it is compared with the written one. */
export interface StatusParts {
  /** Whether the snapshot has a version of the object. */
  readonly serves: boolean;
  /** When a Model leaves; undefined: it stays. */
  readonly notice: Notice | undefined;
  readonly statements: readonly Statement[];
  /** The fields beside the conditions; null removes one. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A condition without its transition time. */
export type Statement<Type extends string = string> = Readonly<
  Pick<Condition, 'status' | 'reason' | 'message'> & { type: Type }
>;

/** The statements about one condition. */
export function statementsOf<Type extends string>(type: Type) {
  const of =
    (status: Condition['status']) =>
    (reason: string, message = ''): Statement<Type> => ({ type, status, reason, message });
  return { isTrue: of('True'), isFalse: of('False'), isUnknown: of('Unknown') };
}

/** The object makes sense as it is. */
export const accepted: Statement<'Accepted'> = statementsOf('Accepted').isTrue('Accepted');

/** Names the fields at fault, each with what was expected there. */
export function faultsText(problems: readonly ObjectProblem[]): string {
  return problems
    .map(({ problem: { field, message } }) => (field === '' ? message : `${field}: ${message}`))
    .join('; ');
}

/** Names up to five replicas in a sentence, and counts the rest. */
export function replicaNames(replicas: readonly { readonly name: string }[]): string {
  const shown = replicas.slice(0, 5).map(({ name }) => name);
  const more = replicas.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/**
 * Turns statements into conditions. A condition whose status has not changed keeps its transition time, even when its
 * message changes.
 */
export function conditionsOf(
  statements: readonly Statement[],
  before: readonly Condition[],
  { generation, now }: { readonly generation: number; readonly now: number },
): readonly Condition[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  return statements.map(({ type, status, reason, message }) => {
    const last = known.get(type);
    const since = last?.status === status ? last.lastTransitionTime : instantText(now);
    return {
      type,
      status,
      reason,
      message: cut(message),
      observedGeneration: generation,
      lastTransitionTime: since,
    };
  });
}

/** RFC 3339 with whole seconds, as Kubernetes writes it. */
export function instantText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

function cut(message: string): string {
  return message.length <= maxMessageLength ? message : `${message.slice(0, maxMessageLength - 1)}…`;
}

/** The last written status of an object, as far as this version understands it. */
interface WrittenStatus {
  readonly conditions: readonly Condition[];
  /** All fields that Weir writes, as one text, so that two statuses can be compared. */
  readonly text: string;
}

const condition = z.object({
  type: z.string(),
  status: z.enum(conditionStatuses),
  observedGeneration: z.number(),
  lastTransitionTime: z.string(),
  reason: z.string(),
  message: z.string(),
});
const written = z.object({
  observedGeneration: z.number().optional(),
  conditions: z.array(condition).default([]),
  routes: z.object({ ready: z.number(), total: z.number() }).optional(),
  endpoints: z.object({ healthy: z.number(), total: z.number() }).nullish(),
  retireAt: z.string().nullish(),
  announcedAt: z.string().nullish(),
  announcedFor: z.string().nullish(),
});

const nothing: WrittenStatus = { conditions: [], text: '' };
const known = new WeakMap<object, WrittenStatus>();

/** Reads a status once, and then remembers the result. A status that cannot be read counts as absent, and is written anew. */
export function readStatus(status: unknown): WrittenStatus {
  if (typeof status !== 'object' || status === null) return nothing;
  const before = known.get(status);
  if (before !== undefined) return before;
  const { data } = written.safeParse(status);
  const read = data === undefined ? nothing : { conditions: data.conditions, text: textOf(data) };
  known.set(status, read);
  return read;
}

function textOf({ observedGeneration, conditions, routes, endpoints, ...dates }: z.output<typeof written>): string {
  const { retireAt = null, announcedAt = null, announcedFor = null } = dates;
  const facts = conditions.map((one) => [
    ...[one.type, one.status, one.reason, one.message],
    ...[one.observedGeneration, one.lastTransitionTime],
  ]);
  const counts = [routes?.ready, routes?.total, endpoints?.healthy, endpoints?.total];
  return JSON.stringify([observedGeneration, facts, counts, retireAt, announcedAt, announcedFor]);
}
