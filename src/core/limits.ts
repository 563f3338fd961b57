import type { Money } from './money.ts';
import { hasToken, type RateStatus } from './token-bucket.ts';

/** What may still be spent, before the requests under way are taken off. */
export interface Funds {
  readonly balance: Money;
  /** What the key's budget leaves in its period. Absent: it has none. */
  readonly budget?: Money;
}

/** What one request is held against. */
export interface LimitsAsk {
  readonly keyId: string;
  readonly workspaceId: string;
  /** Sustained requests per second of the key, and how many at once. */
  readonly rate: number;
  readonly burst: number;
  /** Requests that the workspace may have under way. */
  readonly maxInFlight: number;
  readonly funds: Funds;
}

/** What is under way before a request is admitted. */
export interface UnderWay {
  /** Time until the key's bucket is full, milliseconds. */
  readonly fullInMs: number;
  /** Requests of the workspace under way, and what is reserved for them: what they are expected to cost by their end. */
  readonly inFlight: number;
  readonly reserved: Money;
  /** What is reserved for the key's requests under way. */
  readonly keyReserved: Money;
}

/** What money may be short of. */
export type Shortage = 'balance' | 'budget';
export type LimitName = 'rate' | 'concurrency' | Shortage;

/** The first limit that refuses a request, in the order of refusals (docs/reference/architecture.md §2.2); undefined when it is admitted. */
export function refusedBy(ask: LimitsAsk, load: UnderWay): LimitName | undefined {
  if (!hasToken(load.fullInMs, ask)) return 'rate';
  if (load.inFlight >= ask.maxInFlight) return 'concurrency';
  return shortOf(ask.funds, load);
}

/**
 * What the reservations leave nothing of; undefined when there is something left of both. It need not be enough for one
 * request more: what is overspent is then the last answer at most, and what the others cost beyond what was expected.
 */
export function shortOf(
  { balance, budget }: Funds,
  { reserved, keyReserved }: Pick<UnderWay, 'reserved' | 'keyReserved'>,
): Shortage | undefined {
  if (balance <= reserved) return 'balance';
  return budget !== undefined && budget <= keyReserved ? 'budget' : undefined;
}

/** The place of an admitted request among those under way. */
export interface Slot {
  /**
   * Reserves what the request is expected to cost, right before its dispatch, if the reservations of others leave anything
   * of the funds by now; gives what there is nothing left of, and has reserved nothing then. Requests that were admitted
   * side by side, before anybody knew what they cost, pass here one after the other.
   */
  readonly reserve: (cost: Money, funds: Funds) => Shortage | undefined | Promise<Shortage | undefined>;
  /** Changes the reservation to what the request is expected to cost by now. Cheap, but not meant for every chunk. */
  readonly adjust: (cost: Money) => void;
  /**
   * Gives the place and the reservation back, once: further calls do nothing. `left` finds what may be spent now that the
   * request is settled; asked only where other replicas need to hear of it before they read it for themselves. Where that
   * is worth waiting for, the place is free on all replicas when it resolves.
   */
  readonly release: (left?: FindFunds) => void | Promise<void>;
}

/** Finds what may be spent by now; undefined when nobody can say. Never rejects. */
export type FindFunds = () => Funds | undefined | Promise<Funds | undefined>;

/** A refused request has taken nothing: no token and no place. */
export type AdmitResult<Place extends Slot = Slot> =
  | { readonly kind: 'admitted'; readonly rate: RateStatus; readonly slot: Place }
  | { readonly kind: 'refused'; readonly by: LimitName; readonly rate: RateStatus };

/** The limits of keys and workspaces. Never queues; answers within a fraction of a second whatever happens, and never fails. */
export interface Limits {
  readonly admit: (ask: LimitsAsk) => AdmitResult | Promise<AdmitResult>;
}
