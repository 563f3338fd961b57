import type { Telemetry } from '../../src/core/telemetry.ts';

/** Takes every event and keeps none. */
export const silentTelemetry: Telemetry = {
  began: () => undefined,
  progress: () => undefined,
  over: () => undefined,
  outcome: () => undefined,
  ended: () => undefined,
  won: () => undefined,
  unavailable: () => undefined,
  attempt: () => ({ output: () => undefined, movedTo: () => undefined, ended: () => undefined }),
  implausibleUsage: () => undefined,
  searched: () => undefined,
};
