import { type FindFunds, type Funds, type LimitsAsk, shortOf, type Shortage, type Slot } from '../core/limits.ts';
import type { Money } from '../core/money.ts';

/** Requests of a workspace or of a key under way in this process, and what is reserved for them. */
export interface Tally {
  readonly inFlight: number;
  readonly reserved: Money;
}

/** What of a tally has changed. */
export type TallyChange = 'released' | 'adjusted';

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
  readonly reserve: (cost: Money, funds: Funds) => Shortage | undefined;
  readonly release: (left?: FindFunds) => void;
}

const nothing: Tally = { inFlight: 0, reserved: 0n };

/** Counts what is under way. Whoever has none is forgotten. */
export function createTallies(
  onChange: (ask: LimitsAsk, change: TallyChange, left: Parameters<LocalSlot['release']>[0]) => void = () => undefined,
): Tallies {
  const workspaces = new Map<string, Tally>();
  const keys = new Map<string, Tally>();

  function add(to: Map<string, Tally>, id: string, { inFlight, reserved }: Tally): void {
    const before = to.get(id) ?? nothing;
    const after = { inFlight: before.inFlight + inFlight, reserved: before.reserved + reserved };
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
      let held: Money = 0n;
      let isOpen = true;
      const change = (by: Tally): void => {
        add(workspaces, ask.workspaceId, by);
        add(keys, ask.keyId, by);
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
          const [{ reserved }, { reserved: keyReserved }] = [ofWorkspace(ask.workspaceId), ofKey(ask.keyId)];
          const short = shortOf(funds, { reserved, keyReserved });
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
