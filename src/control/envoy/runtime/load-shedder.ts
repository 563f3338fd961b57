import { type Clock, every } from '../../../core/clock.ts';
import type { EnvoyAdmin } from './admin.ts';

/** Makes Envoy refuse a share of the new requests before they reach the service (`shedFilter` of edge-listener.ts). */
export type LoadShedder = ReturnType<typeof createLoadShedder>;

export interface LoadShedderOptions {
  /** Makes Envoy refuse this percentage of new requests. Rejects while Envoy does not answer. */
  readonly shed: (percent: number) => Promise<void>;
  readonly clock: Clock;
  readonly stepMs: number;
  /** Whether nothing can change the share for now, so that steps may be rarer. Default: never. */
  readonly isQuiet?: () => boolean;
  /** Computes the share that Envoy admits from now on, from the share that it has admitted so far. */
  readonly next: (admitRatio: number) => number;
}

/** Sets the percentage through Envoy's admin interface. */
export function shedAtEnvoy(admin: Pick<EnvoyAdmin, 'setRuntime'>): LoadShedderOptions['shed'] {
  return (percent) => admin.setRuntime({ 'weir.shed.hold': percent === 0 ? 0 : 100, 'weir.shed.percent': percent });
}

/** A rush after quiet may queue for longer than this before Envoy sheds. */
const quietStepMs = 500;

/** The setting is repeated after so many steps, because a restarted Envoy has lost it. */
const repeatEverySteps = 10;

/**
 * Begins with everything admitted, whatever an earlier process left behind. Envoy gets the setting as soon as it
 * answers.
 */
export function createLoadShedder(options: LoadShedderOptions) {
  const { clock, stepMs, isQuiet = () => false, next } = options;
  let admitRatio = 1;
  let percentSet: number | undefined;
  let stepsSince = 0;
  let setting: Promise<void> | undefined;

  function shed(percent: number): Promise<void> {
    return options
      .shed(percent)
      .then(
        () => {
          percentSet = percent;
        },
        () => {
          percentSet = undefined;
        },
      )
      .finally(() => {
        stepsSince = 0;
        setting = undefined;
      });
  }

  const waitMs = (): number => (admitRatio === 1 && isQuiet() ? quietStepMs : stepMs);
  const cancel = every(clock, waitMs, () => {
    admitRatio = next(admitRatio);
    stepsSince += 1;
    if (setting !== undefined) return;
    const percent = Math.round((1 - admitRatio) * 100);
    if (percent !== percentSet || (percent > 0 && stepsSince >= repeatEverySteps)) setting = shed(percent);
  });

  return {
    /** Share of new requests that Envoy admits, from 0 to 1. */
    admitRatio: (): number => admitRatio,
    /** Stops, and makes Envoy admit everything again if it answers. */
    close: async (): Promise<void> => {
      cancel();
      await setting;
      if (percentSet !== 0) await shed(0);
    },
  };
}
