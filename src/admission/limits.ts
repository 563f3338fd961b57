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
  /** For its answer, if that is a success (service specification §8). */
  readonly headers: Headers;
  /** Takes what it costs from its dispatch on. Throws `insufficient_funds` when those under way leave nothing by now. */
  readonly spend: (cost: Money) => Promise<void>;
  /** Tells what it has cost so far, all in all. */
  readonly accrue: Slot['accrue'];
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

function refusal(by: LimitName, rate: RateStanding): Failure {
  const headers = rateHeaders(rate);
  switch (by) {
    case 'rate':
      return new Failure('rate_limited', `This key may make ${rate.limit} requests a second. Wait and retry.`, {
        retryAfterSeconds: rate.nextSeconds,
        headers,
      });
    case 'concurrency':
      return new Failure('rate_limited', 'This workspace has too many requests under way. Wait and retry.', {
        retryAfterSeconds: placeSeconds,
        headers,
      });
    case 'balance':
    case 'budget':
      return refusalOfMoney(by);
  }
}

function refusalOfMoney(by: Shortage): Failure {
  switch (by) {
    case 'balance':
      return new Failure('insufficient_funds', 'The balance of this workspace is used up. Top it up to go on.');
    case 'budget':
      return new Failure('insufficient_funds', 'The budget of this key is used up for its current period.');
  }
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
  if (verdict.kind === 'refused') throw refusal(verdict.by, verdict.rate);
  const { rate, slot } = verdict;
  const fundsNow = (known: Credential | undefined): Funds | undefined => known && fundsOf(known);
  const left: FindFunds = () => {
    const known = latest();
    return known instanceof Promise ? known.then(fundsNow, () => undefined) : fundsNow(known);
  };
  return {
    headers: rateHeaders(rate),
    spend: async (cost) => {
      const short = await slot.spend(cost, (await left()) ?? fundsOf(credential));
      if (short !== undefined) throw refusalOfMoney(short);
    },
    accrue: slot.accrue,
    release: () => slot.release(left),
  };
}
