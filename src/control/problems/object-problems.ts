/** The problems of the catalog's objects: mistakes of their authors, and conditions in their status. */
import { causeNamed, causeReason, causes } from '../../core/cause.ts';
import type { CatalogProblem } from '../../core/catalog.ts';
import type { Finding } from './kinds.ts';
import type { ConditionStatus } from '../core/live-catalog.ts';

/** A mistake in the catalog, with the object that it was found in. */
export interface CatalogMistake extends CatalogProblem {
  /** For example `Backend/vllm-a`. Undefined: the text has no object with a kind and a name. */
  readonly object: string | undefined;
  /** Another object has its name, id or alias, and counts. Absent: no. */
  readonly isNameConflict?: boolean;
}

/** A condition in the status of an object. */
export interface ObservedCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

export interface ObservedObject {
  /** `Backend/vllm-a` */
  readonly object: string;
  /** The id of a Model. */
  readonly model: string | undefined;
  /** The names of the Backends of a Model's routes. */
  readonly backends?: readonly string[] | undefined;
  readonly conditions: readonly ObservedCondition[];
}

/** Most mistakes of one object that are listed one by one. */
const maxOfOne = 5;
const maxMessageLength = 400;

/** One problem for each mistake of an author. */
export function mistakes(found: readonly CatalogMistake[]): readonly Finding[] {
  const byObject = Map.groupBy(found, (mistake) => mistake.object ?? fileOf(mistake.where));
  return [...byObject].flatMap(([object, own]) => {
    const more = own.length - maxOfOne;
    return [...own.slice(0, maxOfOne).map((one) => mistakeOf(object, one)), ...(more > 0 ? [rest(object, more)] : [])];
  });
}

const whatToMend =
  'Correct the field. Until then the last good version serves, if there is one: docs/operate/runbooks.md#weirobjectrefused';

/** No earlier version serves here: the object that is named does. */
const whatToRename = 'Remove one of the two, or give it another name: docs/operate/runbooks.md#weirobjectrefused';

function mistakeOf(object: string, { where, field, message, isNameConflict }: CatalogMistake): Finding {
  const text = (field === '' ? message : `${field}: ${message}`).slice(0, maxMessageLength);
  const place = where === object ? '' : ` (${where})`;
  // The place is not part of the identity: an edit above the mistake moves its line, and the mistake stays the same.
  const action = isNameConflict ? whatToRename : whatToMend;
  return { object, kind: 'object-refused', detail: text, problem: `Refused: ${text}${place}.`, action };
}

function rest(object: string, more: number): Finding {
  const problem = `Refused: ${more} more mistakes.`;
  return { object, kind: 'object-refused', detail: 'more', problem, action: whatToMend };
}

/** The name of a file, without the number of its document and the line. */
function fileOf(where: string): string {
  return `manifest/${where.replace(/:\d+$/, '').replace(/#\d+$/, '')}`;
}

/** Shortens a message, so that it ends a sentence. */
const asEnd = (text: string): string => `${text.slice(0, maxMessageLength).replace(/\.$/, '')}.`;

/** How a condition appears in the list of problems. */
interface ConditionRule extends Pick<Finding, 'kind' | 'cause' | 'action'> {
  /** Text before the condition's message. */
  readonly problem: string;
}

/**
 * Rules by type, status and reason of a condition, or by type and status for all other reasons. `none`: another problem
 * covers it.
 */
const rules: Readonly<Record<string, ConditionRule | 'none'>> = {
  'Programmed False': {
    kind: 'cluster-refused',
    problem: 'Envoy does not take it',
    action: "Correct what Envoy's message names: docs/operate/runbooks.md#weirenvoydoesnotfollow",
  },
  'Programmed False Lagging': {
    kind: 'replica-behind',
    problem: 'Its newest version does not serve everywhere',
    action: "Look in Envoy's log for the reason: docs/operate/runbooks.md#weirenvoydoesnotfollow",
  },
  'Healthy False': {
    kind: 'backend-down',
    problem: 'No endpoint takes requests',
    action:
      'Start or repair the engine, or correct its host, port or health check: docs/operate/runbooks.md#weirbackendwithoutendpoint',
  },
  ...requestCauses(),
  'Healthy True SomeEndpointsFail': {
    kind: 'endpoints-failing',
    problem: 'Some endpoints get no requests',
    action: 'Repair or remove the endpoints that are named: docs/operate/runbooks.md#weirbackendwithoutendpoint',
  },
  'Healthy True DiffersFromManifest': {
    kind: 'backend-differs',
    problem: 'The engine lists something else than the manifests declare',
    action: 'Correct the field, or the engine; `weir doctor` compares them: docs/operate/problems.md#causes',
  },
  'Servable False': {
    kind: 'model-not-served',
    problem: 'No route takes requests',
    action: 'Bring one of its backends back: docs/operate/runbooks.md#weirnoroute',
  },
  'SameVectors False VectorsChanged': {
    kind: 'vectors-changed',
    problem: 'The engine makes other vectors than those in search indexes, so it gets no requests',
    action: 'Bring the earlier engine back, or make the indexes anew: docs/concepts/same-vectors.md#accept-new-vectors',
  },
  'SameVectors False OtherVectors': {
    kind: 'vectors-differ',
    problem: 'Some endpoints make other vectors, and get no requests',
    action: 'Give them the model, pooling and precision of the reference: docs/concepts/same-vectors.md#explanations',
  },
  'Listed False': {
    kind: 'model-below-level',
    problem: 'Callers do not see it in the list of models',
    action: 'Find out why its requests fail: docs/operate/runbooks.md#weirerrorbudgetburnfast',
  },
  // The mistake of the author is a problem of its own.
  'Programmed False NotAccepted': 'none',
  'Programmed False LastGoodServes': 'none',
  'Servable False NotAccepted': 'none',
  'Servable False BackendNotUsable': 'none',
  // Another problem reports the share of attempts that failed, with the last cause.
  'Healthy False LastRequestsFailed': 'none',
  // The model has left the catalog at its announced date.
  'Servable False Left': 'none',
  'Listed False NotInCatalog': 'none',
  // The condition `Servable` gives the reason.
  'Listed False NotServable': 'none',
};

/** Requests to a Backend fail, for a cause that the condition names: a line for each cause. */
function requestCauses(): Readonly<Record<string, ConditionRule>> {
  const rows = Object.entries(causes).map(([name, { action }]): readonly [string, ConditionRule] => [
    `Healthy False ${causeReason(name)}`,
    {
      ...{ kind: 'backend-down', cause: causeNamed(name), problem: 'Not healthy' },
      action: `${action}: docs/operate/problems.md#causes`,
    },
  ]);
  return Object.fromEntries(rows);
}

/** The problems in the conditions of one object. */
export function conditionProblems({ object, model, conditions }: ObservedObject): readonly Finding[] {
  return conditions.flatMap(({ type, status, reason, message }) => {
    const rule = rules[`${type} ${status} ${reason}`] ?? rules[`${type} ${status}`] ?? 'none';
    if (rule === 'none') return [];
    const { kind, cause, action } = rule;
    return [{ object, kind, model, cause, problem: `${rule.problem}: ${asEnd(message)}`, action }];
  });
}
