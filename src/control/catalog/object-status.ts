import type { KubeObject } from '../../core/catalog.ts';
import { backendStatus } from './backend-status.ts';
import { conditionsOf, readStatus, type StatusFacts, type StatusParts } from './conditions.ts';
import { modelStatus } from './model-status.ts';
import { finalizersOf, type Notice } from './notice.ts';
import type { Condition } from './resources/status.ts';

/** The status and finalizers that an object should have, and which of them have to be written. */
export interface ObjectStatus {
  readonly object: KubeObject;
  readonly notice: Notice | undefined;
  /** The finalizers to write. Undefined: the object has the right finalizers. */
  readonly finalizers: readonly string[] | undefined;
  /** A merge patch of the status: null removes a field. */
  readonly status: Readonly<Record<string, unknown>>;
  /** The conditions that were written last, and the conditions of `status`. */
  readonly before: readonly Condition[];
  readonly after: readonly Condition[];
  /** Whether the object has another status now. */
  readonly differs: boolean;
}

/** The status of an object; undefined when its newest version has not been compiled yet. */
export function statusParts(object: KubeObject, facts: StatusFacts): StatusParts | undefined {
  return object.kind === 'Model' ? modelStatus(object, facts) : backendStatus(object, facts);
}

/**
 * Computes the statuses of objects one after the other, on demand. Leaves out an object whose newest version has not
 * been compiled yet: its status follows with the compilation.
 */
export function* objectStatuses(objects: readonly KubeObject[], facts: StatusFacts): Generator<ObjectStatus> {
  for (const object of objects) {
    const parts = statusParts(object, facts);
    if (parts !== undefined) yield compareWithWritten(object, parts, facts.now);
  }
}

function compareWithWritten(object: KubeObject, parts: StatusParts, now: number): ObjectStatus {
  const { serves, notice, statements, fields } = parts;
  const { generation } = object;
  const before = readStatus(object.status);
  const after = conditionsOf(statements, before.conditions, { generation, now });
  const status = { observedGeneration: generation, conditions: after, ...fields };
  return {
    object,
    notice,
    finalizers: finalizersOf(object, { serves, notice, now }),
    status,
    before: before.conditions,
    after,
    differs: readStatus(status).text !== before.text,
  };
}
