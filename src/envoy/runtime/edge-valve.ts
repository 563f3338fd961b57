import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { EnvoyAdmin } from './admin.ts';

export interface EdgeValve {
  /** Share of new requests that Envoy lets through, from 0 to 1. */
  readonly opening: () => number;
  /** Stops, and opens Envoy again if it answers. */
  readonly close: () => Promise<void>;
}

export interface EdgeValveOptions {
  readonly admin: Pick<EnvoyAdmin, 'setRuntime'>;
  readonly clock: Clock;
  readonly stepMs: number;
  /** The share that Envoy lets through from now on, after the share before. */
  readonly next: (opening: number) => number;
}

/** An Envoy that was started anew has forgotten what it was told. */
const tellAgainEverySteps = 10;

/**
 * Has Envoy refuse a share of the new requests (envoy/shed-filter.ts). Begins open, whatever an earlier process left behind.
 * An Envoy that is away is told when it is back.
 */
export function createEdgeValve(options: EdgeValveOptions): EdgeValve {
  const { admin, clock, stepMs, next } = options;
  let opening = 1;
  let told: number | undefined;
  let stepsSince = 0;
  let telling: Promise<void> | undefined;
  let disarm: CancelTimer = clock.after(stepMs, step);

  function tell(percent: number): Promise<void> {
    return admin
      .setRuntime({ 'weir.shed.hold': percent === 0 ? 0 : 100, 'weir.shed.percent': percent })
      .then(
        () => {
          told = percent;
        },
        () => {
          told = undefined;
        },
      )
      .finally(() => {
        stepsSince = 0;
        telling = undefined;
      });
  }

  function step(): void {
    disarm = clock.after(stepMs, step);
    opening = next(opening);
    stepsSince += 1;
    if (telling !== undefined) return;
    const percent = Math.round((1 - opening) * 100);
    if (percent !== told || (percent > 0 && stepsSince >= tellAgainEverySteps)) telling = tell(percent);
  }

  return {
    opening: () => opening,
    close: async () => {
      disarm();
      await telling;
      if (told !== 0) await tell(0);
    },
  };
}
