import { listBounds } from './limits.ts';
import type { Money } from './money.ts';

// Alerts: a budget or a balance has reached a threshold (docs/alerts.md).

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

/** An alert that this process delivers, until the lease is over. */
export interface ClaimedAlert {
  readonly id: string;
  /** JSON, the same at each try. */
  readonly body: string;
  /** How often the delivery was tried, this try included. */
  readonly tries: number;
}

/** `problem`: why the receiver did not accept it. Undefined: it did. */
export interface DeliveryResult {
  readonly id: string;
  readonly tries: number;
  readonly problem: string | undefined;
}

/** The deliveries of a process since its start, and those that wait in the database. */
export interface DeliveryFigures {
  readonly delivered: number;
  /** Given up after a day. */
  readonly failed: number;
  readonly failedTries: number;
  readonly waiting: number;
}

const hourMs = 3_600_000;
const firstPauseMs = 5_000;
const maxPauseMs = hourMs / 2;
const triedForMs = 24 * hourMs;

const pauseAfter = (tries: number): number => Math.min(firstPauseMs * 2 ** Math.min(tries - 1, 30), maxPauseMs);

/** The pauses between so many tries add up to a day. */
const maxTries = ((): number => {
  let tries = 1;
  for (let sum = pauseAfter(tries); sum <= triedForMs; sum += pauseAfter(tries)) tries += 1;
  return tries;
})();

/**
 * When a delivery that has failed is tried again. Undefined: it is given up. It depends on the tries alone, so a clock
 * that is set forward gives up no message, and one that is set back keeps none alive.
 */
export function nextTryAt({ tries, now }: { readonly tries: number; readonly now: number }): number | undefined {
  return tries < maxTries ? now + pauseAfter(tries) : undefined;
}

/** No message waits longer than this. A later date was written before the clock was set back. */
export const maxWaitMs = hourMs;
