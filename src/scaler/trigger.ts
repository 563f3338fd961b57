import * as z from 'zod';
import { type BackendDemand, neededEndpoints } from '../core/backend-demand.ts';
import { fieldPath } from '../core/failure.ts';
import { didYouMean, nearName } from '../core/near-name.ts';
import { quoted } from '../core/one-line.ts';
import type { DemandOfServices } from './services-demand.ts';

/** What a trigger of a ScaledObject asks for. */
export interface Trigger {
  /** Name of the Backend. */
  readonly backend: string;
  /** The share of their time for which the endpoints should be busy, percent. */
  readonly targetPercent: number;
}

/** Why a question of KEDA cannot be answered. */
export interface Unanswered {
  /** `wrong`: the ScaledObject has to be changed. `unknown`: there is no such Backend. `unavailable`: no service answers. */
  readonly kind: 'wrong' | 'unknown' | 'unavailable';
  readonly message: string;
}

export type TriggerAnswer<Said> = { readonly said: Said } | { readonly unanswered: Unanswered };

const defaultTargetPercent = '70';
/** Requests that came so long ago keep their Backend active, so that KEDA sees them although it asks only now and then. */
const activeMs = 60_000;

/** Names of objects in Kubernetes. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

const metadataSchema = z.object({
  backend: z.string('expected the name of a Backend').regex(objectName, 'expected the name of a Backend'),
  targetPercent: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'expected a whole number from 1 to 100, in quotes')
    .default(defaultTargetPercent)
    .transform(Number),
});
const fields = Object.keys(metadataSchema.shape);

/**
 * Reads the `metadata` of a trigger. Fields that the scaler does not have are KEDA's own, such as `scalerAddress`, unless their name is
 * nearly that of a field.
 */
export function readTrigger(metadata: Readonly<Record<string, string>>): TriggerAnswer<Trigger> {
  const mistyped = Object.keys(metadata).find((name) => !fields.includes(name) && nearName(name, fields) !== undefined);
  if (mistyped !== undefined) {
    return wrong(`${fieldPath(['metadata', mistyped])}: there is no such field${didYouMean(mistyped, fields)}`);
  }
  const read = metadataSchema.safeParse(metadata);
  if (read.success) return { said: read.data };
  const [issue] = read.error.issues;
  const field = String(issue?.path[0] ?? '');
  const given = metadata[field];
  return wrong(`metadata.${field}: ${issue?.message ?? ''}${given === undefined ? '' : `, got ${quoted(given)}`}`);
}

const wrong = (message: string): { readonly unanswered: Unanswered } => ({ unanswered: { kind: 'wrong', message } });

/** The state of a Backend, over all services. */
export interface BackendState {
  /** Whether requests come, or came lately, also refused ones. */
  readonly isActive: boolean;
  /** How many endpoints would be busy all the time. */
  readonly needed: number;
}

/** The state of a trigger's Backend. Services that did not answer count like the others: requests are spread over all of them. */
export function stateOf({ backend }: Trigger, { asked, reports }: DemandOfServices): TriggerAnswer<BackendState> {
  const demands = reports.flatMap((report) => report.filter((demand) => demand.backend === backend));
  if (demands.length === 0) {
    const message = `metadata.backend: the gateway has no Backend ${quoted(backend)} that its Models use and that has endpoints of its own`;
    return { unanswered: { kind: 'unknown', message } };
  }
  return {
    said: {
      isActive: demands.some(isActive),
      needed: neededEndpoints(demands) * (asked / reports.length),
    },
  };
}

const isActive = ({ under_way: underWay, quiet_ms: quietMs }: BackendDemand): boolean =>
  underWay > 0 || (quietMs !== null && quietMs < activeMs);

export const metricNameOf = ({ backend }: Trigger): string => `weir-${backend}`;

/** Whole numbers are exact enough in percent of an endpoint, so that each version of KEDA understands them. */
export const percentOf = (needed: number): number => Math.round(needed * 100);
