import type { Clock } from '../../core/clock.ts';
import {
  type AdmitResult,
  budgetsOf,
  type FindFunds,
  type Funds,
  type Limits,
  type LimitsAsk,
  refusedBy,
  type Shortage,
  shortOf,
  type Slot,
} from '../../core/limits.ts';
import { type BucketSize, rateStatus, takeToken } from '../../core/token-bucket.ts';
import type { Money } from '../../core/money.ts';

export interface MemoryLimits extends Limits {
  readonly admit: (ask: LimitsAsk) => AdmitResult<LocalSlot>;
  readonly reserved: Tallies['reserved'];
  /** How many buckets are stored: those that are not full, and perhaps a few more. For a gauge. */
  readonly buckets: () => number;
}

/** The limits of one process. Memory is bounded by the keys in use: idle keys and workspaces are forgotten. */
export function createMemoryLimits(clock: Clock, tallies: Tallies = createTallies()): MemoryLimits {
  const buckets = createRateBuckets(clock);
  return {
    admit: (ask) => {
      const fullInMs = buckets.fullInMs(ask.keyId, ask);
      const { inFlight, reserved } = tallies.ofWorkspace(ask.workspaceId);
      const budgetReserved = (id: string): Money => tallies.ofBudget(id).reserved;
      const by = refusedBy(ask, { fullInMs, inFlight, reserved, budgetReserved });
      if (by !== undefined) return { kind: 'refused', by, rate: rateStatus(fullInMs, ask) };
      const rate = rateStatus(buckets.take(ask.keyId, ask), ask);
      return { kind: 'admitted', rate, slot: tallies.open(ask) };
    },
    reserved: tallies.reserved,
    buckets: buckets.remembered,
  };
}

/** Requests of a workspace or of a budget in progress in this process, and the amount reserved for them. */
interface Tally {
  readonly inFlight: number;
  readonly reserved: Money;
}

/** How a tally changed. */
export type TallyChange = 'released' | 'adjusted';

export type Tallies = ReturnType<typeof createTallies>;

/** A slot of this process, which answers without a call to Valkey. */
export interface LocalSlot extends Slot {
  readonly reserve: (cost: Money, funds: Funds) => Shortage | undefined;
  readonly release: (left?: FindFunds) => void;
}

const nothing: Tally = { inFlight: 0, reserved: 0n };

/** Counts the requests under way. Workspaces and budgets without any are forgotten. */
export function createTallies(
  onChange: (ask: LimitsAsk, change: TallyChange, left: Parameters<LocalSlot['release']>[0]) => void = () => undefined,
) {
  const workspaces = new Map<string, Tally>();
  const budgets = new Map<string, Tally>();

  function add(to: Map<string, Tally>, id: string, { inFlight, reserved }: Tally): void {
    const before = to.get(id) ?? nothing;
    const after = { inFlight: before.inFlight + inFlight, reserved: before.reserved + reserved };
    if (after.inFlight === 0) to.delete(id);
    else to.set(id, after);
  }

  const ofWorkspace = (id: string): Tally => workspaces.get(id) ?? nothing;
  const ofBudget = (id: string): Tally => budgets.get(id) ?? nothing;
  return {
    ofWorkspace,
    /** By the id of `budgetsOf`. A key has a tally also without a budget, because it may get one meanwhile. */
    ofBudget,
    /** Workspaces with requests under way. */
    workspaces: (): Iterable<string> => workspaces.keys(),
    /** Ids of budgets, and of keys without one, with requests under way. */
    budgets: (): Iterable<string> => budgets.keys(),
    /** The amounts reserved for requests in progress, by workspace. Workspaces without a reservation are left out. */
    reserved: (): ReadonlyMap<string, Money> => {
      const holding = [...workspaces].filter(([, { reserved }]) => reserved > 0n);
      return new Map(holding.map(([id, { reserved }]) => [id, reserved]));
    },
    /** Begins a request. */
    open: (ask: LimitsAsk): LocalSlot => {
      let held: Money = 0n;
      let isOpen = true;
      const counted = budgetsOf(ask, ask.funds);
      const change = (by: Tally): void => {
        add(workspaces, ask.workspaceId, by);
        for (const { id } of counted) add(budgets, id, by);
      };
      change({ inFlight: 1, reserved: 0n });
      const adjust = (cost: Money): void => {
        if (!isOpen || cost === held) return;
        change({ inFlight: 0, reserved: cost - held });
        held = cost;
        onChange(ask, 'adjusted', undefined);
      };
      return {
        adjust,
        reserve: (cost, funds) => {
          const { reserved } = ofWorkspace(ask.workspaceId);
          const short = shortOf(ask, funds, { reserved, budgetReserved: (id) => ofBudget(id).reserved });
          if (short === undefined) adjust(cost);
          return short;
        },
        release: (left) => {
          if (!isOpen) return;
          isOpen = false;
          change({ inFlight: -1, reserved: -held });
          onChange(ask, 'released', left);
        },
      };
    },
  };
}

const minSweep = 1_000;

/** The token buckets of keys, in memory. Full buckets are forgotten. */
function createRateBuckets(clock: Clock) {
  /** When each bucket will be full. */
  const fullAt = new Map<string, number>();
  let sweepAt = minSweep;

  /** Forgets full buckets. Runs when the number of buckets has doubled, so that its cost per request is constant. */
  function sweep(now: number): void {
    for (const [id, at] of fullAt) if (at <= now) fullAt.delete(id);
    sweepAt = Math.max(minSweep, fullAt.size * 2);
  }

  function fullInMs(id: string, { rate, burst }: BucketSize): number {
    const now = clock.elapsed();
    const left = Math.max(0, (fullAt.get(id) ?? 0) - now);
    const emptyMs = (burst * 1000) / rate;
    if (left <= emptyMs) return left;
    // The size was changed: the bucket now counts as empty.
    fullAt.set(id, now + emptyMs);
    return emptyMs;
  }

  return {
    /**
     * Time until the bucket is full, milliseconds. At most the time of an empty bucket of this size, even if it was
     * larger before.
     */
    fullInMs,
    /** Takes a token and returns the time until the bucket is full again, milliseconds. */
    take: (id: string, size: BucketSize): number => {
      const now = clock.elapsed();
      const after = takeToken(fullInMs(id, size), size);
      fullAt.set(id, now + after);
      if (fullAt.size >= sweepAt) sweep(now);
      return after;
    },
    remembered: (): number => fullAt.size,
  };
}
