import type { Credential } from '../../core/account.ts';
import { countedTagsOf, tagsIn, tagText } from '../../core/tags.ts';
import type { Headers } from '../../core/headers.ts';
import { Failure } from '../../core/failure.ts';
import type { FindFunds, Funds, LimitName, Limits, LimitsAsk, Shortage, Slot } from '../../core/limits.ts';
import type { Money } from '../../core/money.ts';
import type { RateStatus } from '../../core/token-bucket.ts';
import type { Authenticated } from './authenticate.ts';

/** A request that was admitted. It holds a slot until it is released. */
export interface Admitted {
  /** Headers of a successful answer (docs/reference/api.md §8). */
  readonly headers: Headers;
  /** The tags that the request counts as. They replace the tags that were sent. */
  readonly tags: string | undefined;
  /** Finds what may be spent now, without what is reserved. Undefined: it is not known. */
  readonly left: FindFunds;
  /**
   * Reserves the expected cost. Throws `insufficient_funds` if concurrent requests have used up the funds meanwhile.
   */
  readonly reserve: (cost: Money) => Promise<void>;
  /** Changes the reservation to a new expected cost. */
  readonly adjust: Slot['adjust'];
  /** Call on every exit, once the request is settled; later calls do nothing. Resolves when the slot is free. */
  readonly release: () => void | Promise<void>;
}

function rateHeaders({ limit, remaining, resetSeconds }: RateStatus): Headers {
  return [
    ['x-ratelimit-limit-requests', String(limit)],
    ['x-ratelimit-remaining-requests', String(remaining)],
    ['x-ratelimit-reset-requests', String(resetSeconds)],
  ];
}

/** The least that a client may be asked to wait, since it is not known when a request under way will end. */
const slotRetrySeconds = 1;

function refusal(by: LimitName, rate: RateStatus, funds: Funds): Failure {
  const limited = (message: string, retryAfterSeconds: number): Failure =>
    new Failure('rate_limited', `Rate limit exceeded: ${message}. Wait and retry.`, {
      retryAfterSeconds,
      limit: by,
      headers: rateHeaders(rate),
    });
  switch (by) {
    case 'rate':
      return limited(`this key may make ${rate.limit} requests a second`, rate.nextSeconds);
    case 'concurrency':
      return limited('this workspace has too many requests under way', slotRetrySeconds);
    case 'balance':
    case 'budget':
    case 'tag-budget':
      return refusalOfMoney(by, funds);
  }
}

/** The refusal says whether the money is spent, or only reserved by other requests, so that waiting can help. */
function refusalOfMoney(by: Shortage, funds: Funds): Failure {
  const message = by === 'balance' ? balanceMessage(funds) : budgetMessage(by, funds);
  return new Failure('insufficient_funds', message, { limit: by });
}

function balanceMessage({ balance }: Funds): string {
  return balance > 0n
    ? 'The requests under way are expected to use up the balance of this workspace. Top it up, or wait until some have ended.'
    : 'Credit balance is too low: the balance of this workspace is used up. Top it up to go on.';
}

function budgetMessage(by: Exclude<Shortage, 'balance'>, { budget = 0n, tags = [] }: Funds): string {
  const usedUp = by === 'budget' ? budget <= 0n : tags.some(({ left }) => left <= 0n);
  const those = usedUp ? tags.filter(({ left }) => left <= 0n) : tags;
  const name = by === 'budget' ? 'this key' : `the tag ${those.map(({ tag }) => tag).join(' or ')}`;
  return usedUp
    ? `Quota exceeded: the budget of ${name} is used up for its current period.`
    : `The requests under way are expected to use up the budget of ${name}. Raise it, or wait until some have ended.`;
}

/** How a request is admitted. */
interface AdmitOptions extends Pick<LimitsAsk, 'isFree'> {
  /** The result of `readTags`. */
  readonly sent?: string | undefined;
}

function askOf(
  credential: Credential,
  { tags, isFree }: Pick<LimitsAsk, 'isFree'> & Pick<Admitted, 'tags'>,
): LimitsAsk {
  const { key, workspace } = credential;
  return {
    keyId: key.id,
    workspaceId: workspace.id,
    rate: key.rate,
    burst: key.burst,
    maxInFlight: workspace.maxInFlight,
    funds: fundsOf(credential, tags),
    isFree,
  };
}

/**
 * Admits a request, by its headers alone, if rate, concurrency, balance and budgets allow it. Returns the request with a slot;
 * throws `rate_limited` or `insufficient_funds` and takes no slot.
 */
export async function admit(
  { credential, latest }: Authenticated,
  limits: Limits,
  { sent, isFree }: AdmitOptions = {},
): Promise<Admitted> {
  const tags = countedTagsOf(sent, credential.countedTags);
  const asked = limits.admit(askOf(credential, { tags, isFree }));
  // An answer from memory need not wait for the next turn of the event loop.
  const result = asked instanceof Promise ? await asked : asked;
  if (result.kind === 'refused') throw refusal(result.by, result.rate, fundsOf(credential, tags));
  const { rate, slot } = result;
  const fundsNow = (known: Credential | undefined): Funds | undefined => known && fundsOf(known, tags);
  const left: FindFunds = () => {
    const known = latest();
    return known instanceof Promise ? known.then(fundsNow, () => undefined) : fundsNow(known);
  };
  return {
    headers: rateHeaders(rate),
    tags,
    left,
    reserve: async (cost) => {
      const funds = (await left()) ?? fundsOf(credential, tags);
      const short = await slot.reserve(cost, funds);
      if (short !== undefined) throw refusalOfMoney(short, funds);
    },
    adjust: slot.adjust,
    release: () => slot.release(left),
  };
}

/**
 * The amounts that a request may still spend: its workspace's balance and credit limit, and the rest of the budgets of its key and
 * of its tags in their current periods.
 */
export function fundsOf(
  { key, workspace: { balance, creditLimit = 0n }, spent, tagBudgets }: Credential,
  tags?: string,
): Funds {
  const funds = { balance: balance + creditLimit, budget: key.budget && key.budget.limit - spent };
  if (tagBudgets === undefined || tags === undefined) return funds;
  const budgeted = tagsIn(tags).flatMap((tag) => tagBudgets.get(tagText(tag)) ?? []);
  return budgeted.length === 0
    ? funds
    : { ...funds, tags: budgeted.map(({ tag, limit, spent: used }) => ({ tag, left: limit - used })) };
}
