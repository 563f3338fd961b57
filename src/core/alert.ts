import { listBounds } from './limits.ts';
import type { Money } from './money.ts';

// Alerts: a budget or a balance has reached a threshold (docs/how-to/alerts.md).

/** Percent of a budget, or of what a balance was after its last credit. */
export type Thresholds = readonly number[];

export const defaultThresholds: Thresholds = [50, 80, 95];

export const thresholdsForm = `at most ${listBounds.maxThresholds} whole percentages from 1 to 100`;

/** In rising order, each once. Undefined: not of this form. */
export function checkThresholds(percents: readonly number[]): Thresholds | undefined {
  const isPercent = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= 100;
  if (percents.length > listBounds.maxThresholds || !percents.every(isPercent)) return undefined;
  return [...new Set(percents)].toSorted((one, other) => one - other);
}

/** Reads `50,80,95`, or `none`. Undefined: not of this form. */
export function readThresholds(text: string): Thresholds | undefined {
  if (text === 'none') return [];
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => /^\d{1,3}$/.test(part)) ? checkThresholds(parts.map(Number)) : undefined;
}

/** The thresholds that are reached when so much of the limit is used. The limit is above zero. */
export function reachedThresholds(thresholds: Thresholds, used: Money, limit: Money): Thresholds {
  return thresholds.filter((percent) => used * 100n >= limit * BigInt(percent));
}

export const deliveryStates = ['none', 'waiting', 'delivered', 'failed'] as const;
/** `none`: no webhook was set when the threshold was reached, or it is counted in a collected one. `failed`: the receiver accepted no try within a day. */
export type DeliveryState = (typeof deliveryStates)[number];

/** The budget of a key, the balance of a workspace, the budget of a tag. */
export const alertKinds = ['budget', 'balance', 'tag'] as const;

export interface AlertRecord {
  /** The id of the webhook, too. */
  readonly id: string;
  readonly kind: (typeof alertKinds)[number];
  readonly workspaceId: string;
  /** The key with the budget. Undefined for a balance and a tag. */
  readonly keyId: string | undefined;
  /** `team=search`, of the budget of a tag. */
  readonly tag: string | undefined;
  readonly percent: number;
  /** In USD, as of the moment at which it was found. */
  readonly used: string;
  readonly limit: string;
  readonly at: number;
  readonly delivery: DeliveryState;
}
