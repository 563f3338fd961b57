import type { Credential } from '../core/account.ts';
import type { Headers } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';
import type { FindFunds, Funds, LimitName, Limits, LimitsAsk, Shortage, Slot } from '../core/limits.ts';
import type { Money } from '../core/money.ts';
import type { RateStanding } from '../core/token-bucket.ts';
import type { Authenticated } from './authenticate.ts';
import { fundsOf } from './budget.ts';

/** A request within its limits. It holds a place until it is released. */
export interface Admitted {
  /** For its answer, if that is a success (docs/reference/api.md §8). */
  readonly headers: Headers;
  /** Reserves what it is expected to cost. Throws `insufficient_funds` when those under way leave nothing by now. */
  readonly reserve: (cost: Money) => Promise<void>;
  /** Changes the reservation to what it is expected to cost by now. */
  readonly adjust: Slot['adjust'];
  /** Call on every exit, once it is settled; calls after the first do nothing. Resolves when its place is free. */
  readonly release: () => void | Promise<void>;
}

function rateHeaders({ limit, remaining, resetSeconds }: RateStanding): Headers {
  return [
    ['x-ratelimit-limit-requests', String(limit)],
    ['x-ratelimit-remaining-requests', String(remaining)],
    ['x-ratelimit-reset-requests', String(resetSeconds)],
  ];
}

/** Nobody knows when a request under way will end: the least that a client may be asked to wait. */
const placeSeconds = 1;

function refusal(by: LimitName, rate: RateStanding, funds: Funds): Failure {
  const headers = rateHeaders(rate);
  switch (by) {
    case 'rate':
      return new Failure(
        'rate_limited',
        `Rate limit exceeded: this key may make ${rate.limit} requests a second. Wait and retry.`,
        {
          retryAfterSeconds: rate.nextSeconds,
          headers,
        },
      );
    case 'concurrency':
      return new Failure(
        'rate_limited',
        'Rate limit exceeded: this workspace has too many requests under way. Wait and retry.',
        {
          retryAfterSeconds: placeSeconds,
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

/** Says whether the money is spent, or some is left and reserved: then waiting helps, too. */
function refusalOfMoney(by: Shortage, funds: Funds): Failure {
  const isLeft = (funds[by] ?? 0n) > 0n;
  return new Failure('insufficient_funds', isLeft ? shortages[by].reserved : shortages[by].usedUp);
}

function askOf(credential: Credential): LimitsAsk {
  const { key, workspace } = credential;
  return {
    ...{ keyId: key.id, workspaceId: workspace.id, rate: key.rate, burst: key.burst },
    ...{ maxInFlight: workspace.maxInFlight, funds: fundsOf(credential) },
  };
}

/**
 * Admits a request, from its headers alone, if rate, concurrency, balance and budget let it pass; it holds a place then.
 * Throws `rate_limited` or `insufficient_funds`, and then it holds nothing.
 */
export async function admit({ credential, latest }: Authenticated, limits: Limits): Promise<Admitted> {
  const asked = limits.admit(askOf(credential));
  // A verdict from memory is not made to wait for the next turn.
  const verdict = asked instanceof Promise ? await asked : asked;
  if (verdict.kind === 'refused') throw refusal(verdict.by, verdict.rate, fundsOf(credential));
  const { rate, slot } = verdict;
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
