import type { Key } from '../../src/core/account.ts';
import type { RateLimit } from './check-refusal.ts';
import type { Promised } from './world-view.ts';

const rich = 1_000_000_000_000n;
/** A workspace, as a world begins with it. */
interface WorkspacePlan {
  readonly credit: bigint;
  readonly maxInFlight: number;
  readonly tokensPerMinute?: number;
  readonly tagTokensPerMinute?: Readonly<Record<string, number>>;
}

/** Of the workspaces of a world, in their order: one has hardly any money, one may have few requests in flight. */
export const workspaces: readonly WorkspacePlan[] = [
  { credit: rich, maxInFlight: 64 },
  { credit: rich, maxInFlight: 64 },
  { credit: 4_000_000_000n, maxInFlight: 64 },
  { credit: rich, maxInFlight: 4 },
  // Of identities alone: no operator stops them.
  { credit: rich, maxInFlight: 64 },
  { credit: rich, maxInFlight: 64 },
  // Of keys with limits in tokens alone. A third of the requests with tags have this one.
  { credit: rich, maxInFlight: 64, tokensPerMinute: 900, tagTokensPerMinute: { 'of=1': 200 } },
];

/** About one answer. */
const tight = 2_400_000_000n;

/** A key, as a world begins with it. */
export interface KeyPlan extends RateLimit {
  readonly workspace: number;
  readonly budget?: NonNullable<Key['budget']>;
  readonly tokensPerMinute?: number;
}

const usual = { rate: 50, burst: 100 };

/** The keys of a world that have a text, by their numbers. No one has made the key `unknownKey`. */
const textKeys: readonly KeyPlan[] = [
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

/** An identity, as a world begins with it. A token that has its name as `app` is of this identity. */
export interface IdentityPlan extends Omit<KeyPlan, 'workspace'> {
  readonly name: string;
  readonly each: 'identity' | 'subject';
  /** `claim`: the workspace that the token names. */
  readonly payer: number | 'claim';
  readonly accounts: readonly { readonly workspace: number; readonly subject?: string }[];
  /** The claims that it makes tags of, by tag. Some are of names that the header has as well. */
  readonly tags: Readonly<Record<string, string>>;
}

const ofSubjects = (a: number, b: number) => [
  { workspace: a, subject: 'a' },
  { workspace: b, subject: 'b' },
];
const dayBudget = { limit: tight, period: 'day' } as const;
export const identityPlans: readonly IdentityPlan[] = [
  {
    ...{ ...usual, name: 'whole', each: 'identity', payer: 1, accounts: [{ workspace: 1 }] },
    ...{ budget: dayBudget, tags: { of: 'tag' } },
  },
  {
    ...{ ...usual, name: 'each', each: 'subject', payer: 'claim', accounts: ofSubjects(1, 0) },
    ...{ budget: dayBudget, tags: { shard: 'sub', app: 'tag' } },
  },
  { name: 'slow', each: 'identity', payer: 0, accounts: [{ workspace: 0 }], rate: 4, burst: 8, tags: {} },
  // Its payer changes: it has an account in each of the two.
  {
    ...{ ...usual, name: 'moving', each: 'identity', payer: 4, tags: {} },
    accounts: [{ workspace: 4 }, { workspace: 5 }],
  },
  { ...usual, name: 'leaving', each: 'subject', payer: 4, accounts: ofSubjects(4, 4), tags: { of: 'tag' } },
];

/** An account of an identity: a key without a text. Their numbers are after those of the others. */
export interface AccountPlan {
  readonly identity: IdentityPlan;
  readonly workspace: number;
  readonly subject?: string;
}
const accountPlans = identityPlans.flatMap((identity) =>
  identity.accounts.map((account): AccountPlan => ({ identity, ...account })),
);

/**
 * Keys with a limit in tokens a minute: some answers, and less than one that nothing caps; and two whose workspace and tags have limits,
 * of which one has its own as well. They came last, so they have the last numbers.
 */
const limitedPlans: readonly KeyPlan[] = [
  { ...usual, workspace: 0, tokensPerMinute: 240 },
  { ...usual, workspace: 1, tokensPerMinute: 2_400 },
  { ...usual, workspace: 6 },
  { ...usual, workspace: 6, tokensPerMinute: 500 },
];

/** The keys of a world by their numbers, with the accounts of its identities. */
export const keyPlans: readonly KeyPlan[] = [
  ...textKeys,
  ...accountPlans.map(({ identity, workspace }) => ({ ...identity, workspace })),
  ...limitedPlans,
];
export const accountOf = (key: number): AccountPlan | undefined => accountPlans[key - textKeys.length];

/** What stops together with a key, itself included: all accounts of its identity. The first one stands for the identity. */
export function togetherWith(key: number): readonly [first: number, ...number[]] {
  const { identity } = accountOf(key) ?? {};
  const [first = key, ...others] = [...keyPlans.keys()].filter(
    (number) => identity !== undefined && accountOf(number)?.identity === identity,
  );
  return [first, ...others];
}

const numberOf = (name: string): number =>
  textKeys.length + accountPlans.findIndex(({ identity }) => identity.name === name);
export const [wholeAccount, eachAccount, slowAccount] = [numberOf('whole'), numberOf('each'), numberOf('slow')];
export const [movingAccount, leavingAccount] = [numberOf('moving'), numberOf('leaving')];
/** Accounts that requests are drawn for. */
export const tokenKeys = [wholeAccount, eachAccount, eachAccount + 1, slowAccount, movingAccount] as const;

/** What is promised: docs/how-to/accounts.md. */
export const promised: Promised = { graceMs: 30 * 60_000, keyPlans, workspaces };

/** Keys that are revoked some time in most worlds, while their callers go on. */
export const revokedKeys = [6, 7] as const;
/** A key with a low rate, one of a workspace that may have few requests in flight, one that ends, and one that nobody has made. */
export const [slowKey, crowdedKey, endingKey, unknownKey] = [8, 9, 10, 11] as const;
/** Keys whose budget is for a longer time than a day. */
export const longBudgetKeys = [12, 13] as const;

/** Keys with a limit in tokens a minute, as in `limitedPlans`. */
export const limitedKeys = [4, 3, 2, 1].map((last) => keyPlans.length - last);

/** Keys that are suspended, or rotated, shortly before what services store is out of reach. */
export const [heldKey, rotatedKey] = [14, 15] as const;

/** Budgets of tags of the workspace that may have few requests in flight: of the first tag of a request, and of its second one. */
export const tagBudgets = [
  { workspace: 3, tag: 'of=1', budget: { limit: tight, period: 'day' } },
  { workspace: 3, tag: 'shard=2', budget: { limit: tight, period: 'day' } },
] as const;

/** The tags of a request, in the form of their header. */
export const tagsOf = (id: number): string | undefined => (id % 2 === 0 ? `of=${id % 3},shard=${id % 5}` : undefined);
