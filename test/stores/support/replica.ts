import { randomUUID } from 'node:crypto';
import {
  createValkeyLimits,
  type ValkeyLimits,
  type ValkeyLimitsOptions,
} from '../../../src/gateway/rate-limits/valkey.ts';
import { systemClock } from '../../../src/process/clock.ts';
import { readValkeyAddress, type ValkeyAddress, valkeyAddressForms } from '../../../src/core/valkey-address.ts';
import type { LimitsAsk, Slot, AdmitResult } from '../../../src/core/limits.ts';

/** The address in a text that is one. */
function valkeyAt(text: string): ValkeyAddress {
  const address = readValkeyAddress(text);
  if (address === undefined) throw new Error(`${text}: ${valkeyAddressForms}`);
  return address;
}

/** The limits of one replica of the service. */
export interface Replica {
  readonly limits: ValkeyLimits;
  readonly admit: (ask: LimitsAsk) => Promise<AdmitResult>;
  /** Admits; throws when it is refused. */
  readonly slot: (ask: LimitsAsk) => Promise<Slot>;
  /** `admitted`, or what refuses; what is admitted is given back at once. */
  readonly result: (ask: LimitsAsk) => Promise<string>;
  /** Resolve with the next change; at once when it is so already. */
  readonly up: () => Promise<void>;
  readonly down: () => Promise<void>;
  readonly changes: readonly string[];
}

export function startReplica(
  url: string,
  options: Pick<ValkeyLimitsOptions, 'timeMs' | 'expectedReplicas' | 'timeoutMs'> = {},
): Replica {
  const changes: string[] = [];
  let looks: (() => void)[] = [];
  const changed = (to: string) => (): void => {
    changes.push(to);
    const waiting = looks;
    looks = [];
    for (const look of waiting) look();
  };
  const limits = createValkeyLimits({
    ...{ address: valkeyAt(url), clock: systemClock, newId: randomUUID, onUp: changed('up'), onDown: changed('down') },
    ...options,
  });
  const until = async (isUp: boolean): Promise<void> => {
    while (limits.link.isUp() !== isUp) await new Promise<void>((resolve) => looks.push(resolve));
  };
  const admit = async (ask: LimitsAsk): Promise<AdmitResult> => limits.admit(ask);
  return {
    ...{ limits, admit, changes },
    slot: async (ask) => {
      const result = await admit(ask);
      if (result.kind === 'refused') throw new Error(`refused by ${result.by}`);
      return result.slot;
    },
    result: async (ask) => {
      const result = await admit(ask);
      if (result.kind === 'refused') return result.by;
      await result.slot.release();
      return 'admitted';
    },
    up: () => until(true),
    down: () => until(false),
  };
}
