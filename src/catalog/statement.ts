import { type Condition, maxMessageLength } from './resources/status.ts';
import type { JudgedProblem } from './verdict.ts';

/** What a condition says, without since when. */
export type Statement<Type extends string = string> = Readonly<
  Pick<Condition, 'status' | 'reason' | 'message'> & { type: Type }
>;

/** Names the fields at fault, each with what was expected there. */
export function faultsText(problems: readonly JudgedProblem[]): string {
  return problems
    .map(({ problem: { field, message } }) => (field === '' ? message : `${field}: ${message}`))
    .join('; ');
}

/** Names of replicas in a sentence; many are counted. */
export function replicaNames(replicas: readonly { readonly name: string }[]): string {
  const shown = replicas.slice(0, 5).map(({ name }) => name);
  const more = replicas.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/**
 * Statements as conditions. A condition that holds as it did keeps the time at which it came to hold, whatever its
 * message says now.
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
      ...{ type, status, reason, message: cut(message) },
      ...{ observedGeneration: generation, lastTransitionTime: since },
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
