import type { Clock } from '../../core/clock.ts';
import {
  type AdmitResult,
  budgetsOf,
  type ExpectedTokens,
  type FindFunds,
  type Funds,
  type LimitName,
  type Limits,
  type LimitsAsk,
  refusedBy,
  type Short,
  shortOf,
  type Slot,
} from '../../core/limits.ts';
import { rateStatus } from '../../core/token-bucket.ts';
import type { Money } from '../../core/money.ts';
import { createRateBuckets, holdTokens } from './rate-buckets.ts';

export interface MemoryLimits extends Limits {
  readonly admit: (ask: LimitsAsk) => AdmitResult<LocalSlot>;
  readonly reserved: Tallies['reserved'];
  /** Begins a request that something else has admitted. Its tokens are reserved here if it is asked to. */
  readonly open: Tallies['open'];
  /** How many buckets are stored: those that are not full, and perhaps a few more. For a gauge. */
  readonly buckets: () => number;
}

/** The limits of one process. Memory is bounded by the keys in use: idle keys and workspaces are forgotten. */
export function createMemoryLimits(clock: Clock, tallies: Tallies = createTallies()): MemoryLimits {
  const buckets = createRateBuckets(clock);
  const open = (ask: LimitsAsk, would?: readonly LimitName[]): LocalSlot => {
    const slot = tallies.open(ask, would);
    return ask.tokens === undefined ? slot : withTokens(slot, holdTokens(buckets, ask));
  };
  return {
    admit: (ask) => {
      const fullInMs = buckets.fullInMs(ask.keyId, ask);
      const { inFlight, reserved } = tallies.ofWorkspace(ask.workspaceId);
      const budgetReserved = (id: string): Money => tallies.ofBudget(id).reserved;
      const { tokensFullInMs } = buckets;
      const { by, would } = refusedBy(ask, { fullInMs, inFlight, reserved, budgetReserved, tokensFullInMs });
      if (by !== undefined) {
        const tokens = ask.tokens && holdTokens(buckets, ask).status();
        return { kind: 'refused', by, rate: rateStatus(fullInMs, ask), tokens };
      }
      const rate = rateStatus(would.includes('rate') ? fullInMs : buckets.take(ask.keyId, ask), ask);
      return { kind: 'admitted', rate, slot: open(ask, would) };
    },
    open,
    reserved: tallies.reserved,
    buckets: buckets.remembered,
  };
}

/** A slot whose tokens are reserved in this process, too. */
function withTokens(slot: LocalSlot, held: ReturnType<typeof holdTokens>): LocalSlot {
  return {
    tokens: held.status,
    wouldRefuse: () => [...slot.wouldRefuse(), ...held.wouldRefuse()],
    reserve: (cost, funds, expected) => {
      const short = (expected && held.short()) ?? slot.reserve(cost, funds);
      if (short === undefined && expected !== undefined) held.reserve(expected);
      return short;
    },
    adjust: (cost, expected) => {
      slot.adjust(cost);
      held.adjust(expected);
    },
    release: (left, used) => {
      held.settle(used);
      slot.release(left);
    },
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
  readonly reserve: (cost: Money, funds: Funds, expected?: ExpectedTokens) => Short;
  readonly release: (left?: FindFunds, used?: ExpectedTokens) => void;
  readonly wouldRefuse: () => readonly LimitName[];
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
    /** Begins a request. `admittedBy`: limits that would have refused it, if they were enforced. */
    open: (ask: LimitsAsk, admittedBy: readonly LimitName[] = []): LocalSlot => {
      let would = admittedBy;
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
          would = [...would, ...short.would];
          if (short.by === undefined) adjust(cost);
          return short.by;
        },
        wouldRefuse: () => would,
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
