import type { Key } from '../../src/core/account.ts';
import type { RateLimit } from './check-refusal.ts';
import type { Promised } from './world-view.ts';

const rich = 1_000_000_000_000n;
/** Of the workspaces of a world, in their order: one has hardly any money, one may have few requests in flight. */
export const workspaces = [
  { credit: rich, maxInFlight: 64 },
  { credit: rich, maxInFlight: 64 },
  { credit: 4_000_000_000n, maxInFlight: 64 },
  { credit: rich, maxInFlight: 4 },
] as const;

/** About one answer. */
const tight = 2_400_000_000n;

/** A key, as a world begins with it. */
export interface KeyPlan extends RateLimit {
  readonly workspace: number;
  readonly budget?: NonNullable<Key['budget']>;
}

const usual = { rate: 50, burst: 100 };

/** The keys of a world, by their numbers. No one has made the key `unknownKey`. */
export const keyPlans: readonly KeyPlan[] = [
  { ...usual, workspace: 0 },
  { ...usual, workspace: 0, budget: { limit: tight, period: 'day' } },
  { ...usual, workspace: 1 },
  { ...usual, workspace: 1, budget: { limit: tight, period: 'day' } },
  { ...usual, workspace: 2 },
  { ...usual, workspace: 2 },
  { ...usual, workspace: 0 },
  { ...usual, workspace: 1 },
  { workspace: 0, rate: 4, burst: 8 },
  { ...usual, workspace: 3 },
  { ...usual, workspace: 0 },
  { ...usual, workspace: 0 },
  { ...usual, workspace: 1, budget: { limit: tight, period: 'week' } },
  { ...usual, workspace: 1, budget: { limit: tight, period: 'month' } },
  { ...usual, workspace: 0 },
  { ...usual, workspace: 1, budget: { limit: tight, period: 'week' } },
];

/** What is promised: docs/accounts.md. */
export const promised: Promised = { graceMs: 30 * 60_000, keyPlans, workspaces };

/** Keys that are revoked some time in most worlds, while their callers go on. */
export const revokedKeys = [6, 7] as const;
/** A key with a low rate, one of a workspace that may have few requests in flight, one that ends, and one that nobody has made. */
export const [slowKey, crowdedKey, endingKey, unknownKey] = [8, 9, 10, 11] as const;
/** Keys whose budget is for a longer time than a day. */
export const longBudgetKeys = [12, 13] as const;

/** Keys that are suspended, or rotated, shortly before what services store is out of reach. */
export const [heldKey, rotatedKey] = [14, 15] as const;

/** Budgets of tags of the workspace that may have few requests in flight: of the first tag of a request, and of its second one. */
export const tagBudgets = [
  { workspace: 3, tag: 'of=1', budget: { limit: tight, period: 'day' } },
  { workspace: 3, tag: 'shard=2', budget: { limit: tight, period: 'day' } },
] as const;

/** The tags of a request, in the form of their header. */
export const tagsOf = (id: number): string | undefined => (id % 2 === 0 ? `of=${id % 3},shard=${id % 5}` : undefined);
