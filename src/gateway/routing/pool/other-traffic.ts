import type { EngineLoad } from '../../core/engine-load.ts';

/** The requests of an engine that neither this replica nor those that report to it have sent there. */
export type OtherTraffic = ReturnType<typeof createOtherTraffic>;

/** The most that was known of at a moment between the question and the answer, so that no own request counts as another's. */
export interface KnownRequests {
  readonly underWay: number;
  /** Requests without a first token, which count in `underWay` too. */
  readonly unanswered: number;
}

/** A report that is older is worth nothing, ms. */
const freshMs = 5000;
const nothing: EngineLoad = { running: 0, waiting: 0 };

/**
 * A request that one side counts and the other not yet, or no more, looks like another's for a moment. So the least of the last two
 * reports counts.
 */
export function createOtherTraffic() {
  let last = nothing;
  let least = nothing;
  let lastAt = -Infinity;
  return {
    /** The engine has reported its load. `known`: the requests there of which the replicas know. */
    reported: (now: number, load: EngineLoad, known: KnownRequests): void => {
      const before = now - lastAt <= freshMs ? last : nothing;
      last = othersIn(load, known);
      least = { running: Math.min(before.running, last.running), waiting: Math.min(before.waiting, last.waiting) };
      lastAt = now;
    },
    /** Nothing, if the engine has not reported for a while. */
    at: (now: number): EngineLoad => (now - lastAt > freshMs ? nothing : least),
  };
}

/** Own requests without a first token may be the waiting ones. */
function othersIn({ running, waiting }: EngineLoad, { underWay, unanswered }: KnownRequests): EngineLoad {
  const all = Math.max(0, running + waiting - underWay);
  const othersWaiting = Math.min(all, Math.max(0, waiting - unanswered));
  return { running: all - othersWaiting, waiting: othersWaiting };
}
