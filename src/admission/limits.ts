import type { Credential } from '../core/account.ts';
import type { Headers } from '../core/headers.ts';
import { Failure } from '../core/failure.ts';
import type { FindFunds, Funds, LimitName, Limits, LimitsAsk, Shortage, Slot } from '../core/limits.ts';
import type { Money } from '../core/money.ts';
import type { RateStatus } from '../core/token-bucket.ts';
import type { Authenticated } from './authenticate.ts';

/** A request that was admitted. It holds a slot until it is released. */
export interface Admitted {
  /** Headers of a successful answer (docs/reference/api.md §8). */
  readonly headers: Headers;
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
  const headers = rateHeaders(rate);
  switch (by) {
    case 'rate':
      return new Failure(
        'rate_limited',
        `Rate limit exceeded: this key may make ${rate.limit} requests a second. Wait and retry.`,
        {
          retryAfterSeconds: rate.nextSeconds,
          limit: by,
          headers,
        },
      );
    case 'concurrency':
      return new Failure(
        'rate_limited',
        'Rate limit exceeded: this workspace has too many requests under way. Wait and retry.',
        {
          retryAfterSeconds: slotRetrySeconds,
          limit: by,
          headers,
        },
      );
    case 'balance':
    case 'budget':
      return refusalOfMoney(by, funds);
  }
}

const shortages: Readonly<Record<Shortage, { readonly usedUp: string; readonly reserved: string }>> = {
  balance: {
    usedUp: 'Credit balance is too low: the balance of this workspace is used up. Top it up to go on.',
    reserved:
      'The requests under way are expected to use up the balance of this workspace. Top it up, or wait until some have ended.',
  },
  budget: {
    usedUp: 'Quota exceeded: the budget of this key is used up for its current period.',
    reserved:
      'The requests under way are expected to use up the budget of this key. Raise it, or wait until some have ended.',
  },
};

/** The refusal says whether the money is spent, or only reserved by other requests, so that waiting can help. */
function refusalOfMoney(by: Shortage, funds: Funds): Failure {
  const isLeft = (funds[by] ?? 0n) > 0n;
  return new Failure('insufficient_funds', isLeft ? shortages[by].reserved : shortages[by].usedUp, { limit: by });
}

function askOf(credential: Credential): LimitsAsk {
  const { key, workspace } = credential;
  return {
    keyId: key.id,
    workspaceId: workspace.id,
    rate: key.rate,
    burst: key.burst,
    maxInFlight: workspace.maxInFlight,
    funds: fundsOf(credential),
  };
}

/**
 * Admits a request, by its headers alone, if rate, concurrency, balance and budget allow it. Returns the request with a slot;
 * throws `rate_limited` or `insufficient_funds` and takes no slot.
 */
export async function admit({ credential, latest }: Authenticated, limits: Limits): Promise<Admitted> {
  const asked = limits.admit(askOf(credential));
  // An answer from memory need not wait for the next turn of the event loop.
  const result = asked instanceof Promise ? await asked : asked;
  if (result.kind === 'refused') throw refusal(result.by, result.rate, fundsOf(credential));
  const { rate, slot } = result;
  const fundsNow = (known: Credential | undefined): Funds | undefined => known && fundsOf(known);
  const left: FindFunds = () => {
    const known = latest();
    return known instanceof Promise ? known.then(fundsNow, () => undefined) : fundsNow(known);
  };
  return {
    headers: rateHeaders(rate),
    reserve: async (cost) => {
      const funds = (await left()) ?? fundsOf(credential);
      const short = await slot.reserve(cost, funds);
      if (short !== undefined) throw refusalOfMoney(short, funds);
    },
    adjust: slot.adjust,
    release: () => slot.release(left),
  };
}

/** The amounts that a key may still spend: its workspace's balance and credit limit, and the rest of its budget in the current period. */
export function fundsOf({ key, workspace: { balance, creditLimit = 0n }, spent }: Credential): Funds {
  return { balance: balance + creditLimit, budget: key.budget && key.budget.limit - spent };
}
