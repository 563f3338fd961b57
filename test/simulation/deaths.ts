import type { Death, FaultEvent } from './events.ts';
import type { Scheduler } from './scheduler.ts';

type Dies = Extract<FaultEvent, { readonly kind: 'dies' }>;

/** Services that are to die at a moment which their own work leads to. */
export interface Deaths {
  readonly arm: (number: number, event: Dies) => void;
  /** Kills a service that is to die at this moment, and has it started again. Returns whether it did. */
  readonly diesAt: (number: number, moment: Death) => boolean;
}

export function createDeaths(
  scheduler: Scheduler,
  { kill, start }: { readonly kill: (number: number) => void; readonly start: (number: number) => void },
): Deaths {
  const armed = new Map<number, Dies>();
  return {
    arm: (number, event) => void armed.set(number, event),
    diesAt: (number, moment) => {
      const death = armed.get(number);
      if (death?.moment !== moment || scheduler.now() > death.at + death.forMs) return false;
      armed.delete(number);
      scheduler.log.write(`service-${number} dies ${moment}`);
      kill(number);
      scheduler.after(death.downMs, () => start(number));
      return true;
    },
  };
}
