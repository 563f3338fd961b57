import { type FindFunds, type Funds, type LimitsAsk, shortOf, type Shortage, type Slot } from '../../core/limits.ts';
import type { Money } from '../../core/money.ts';

/** Requests of a workspace or of a key under way in this process, and what they have cost so far. */
export interface Tally {
  readonly inFlight: number;
  readonly accrued: Money;
}

/** What of a tally has changed. */
export type TallyChange = 'released' | 'accrued';

export interface Tallies {
  readonly ofWorkspace: (id: string) => Tally;
  readonly ofKey: (id: string) => Tally;
  /** Workspaces with requests under way. */
  readonly workspaces: () => Iterable<string>;
  /** Keys with requests under way. */
  readonly keys: () => Iterable<string>;
  /** Begins a request. */
  readonly open: (ask: LimitsAsk) => LocalSlot;
}

/** A place that nobody else has to be asked about. */
export interface LocalSlot extends Slot {
  readonly spend: (cost: Money, funds: Funds) => Shortage | undefined;
  readonly release: (left?: FindFunds) => void;
}

const nothing: Tally = { inFlight: 0, accrued: 0n };

/** Counts what is under way. Whoever has none is forgotten. */
export function createTallies(
  onChange: (ask: LimitsAsk, change: TallyChange, left: Parameters<LocalSlot['release']>[0]) => void = () => undefined,
): Tallies {
  const workspaces = new Map<string, Tally>();
  const keys = new Map<string, Tally>();

  function add(to: Map<string, Tally>, id: string, { inFlight, accrued }: Tally): void {
    const before = to.get(id) ?? nothing;
    const after = { inFlight: before.inFlight + inFlight, accrued: before.accrued + accrued };
    if (after.inFlight === 0) to.delete(id);
    else to.set(id, after);
  }

  const ofWorkspace = (id: string): Tally => workspaces.get(id) ?? nothing;
  const ofKey = (id: string): Tally => keys.get(id) ?? nothing;
  return {
    ofWorkspace,
    ofKey,
    workspaces: () => workspaces.keys(),
    keys: () => keys.keys(),
    open: (ask) => {
      let cost: Money = 0n;
      let isOpen = true;
      const change = (by: Tally): void => {
        add(workspaces, ask.workspaceId, by);
        add(keys, ask.keyId, by);
      };
      change({ inFlight: 1, accrued: 0n });
      const accrue = (now: Money): void => {
        if (!isOpen || now === cost) return;
        change({ inFlight: 0, accrued: now - cost });
        cost = now;
        onChange(ask, 'accrued', undefined);
      };
      return {
        accrue,
        spend: (now, funds) => {
          const [{ accrued }, { accrued: keyAccrued }] = [ofWorkspace(ask.workspaceId), ofKey(ask.keyId)];
          const short = shortOf(funds, { accrued, keyAccrued });
          if (short === undefined) accrue(now);
          return short;
        },
        release: (left) => {
          if (!isOpen) return;
          isOpen = false;
          change({ inFlight: -1, accrued: -cost });
          onChange(ask, 'released', left);
        },
      };
    },
  };
}
