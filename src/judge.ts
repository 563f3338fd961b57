import type { Route } from './core/catalog.ts';
import type { AnswerEvent } from './core/event.ts';
import type { Health } from './core/health.ts';
import type { StructuralDefect, StructureChecker } from './core/structure.ts';
import { type StructuredAsk, structureOf, type StructureWatch } from './dispatch/structure.ts';

/** Judges the structure of one request's answers, and holds a defect against the route (service specification §4.1). */
export interface Judge {
  /** Judges a whole answer, before it is relayed. Undefined: it is sound, or nobody can tell. */
  readonly whole: (events: readonly AnswerEvent[], route: Route) => Promise<StructuralDefect | undefined>;
  /** Takes a piece of a stream, which is relayed meanwhile. */
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** The stream is complete, and all of it came from this route. */
  readonly streamed: (route: Route) => void;
}

/** Undefined when the request asks for no structure. */
export function judgeFor(
  request: StructuredAsk,
  { structures, health }: { readonly structures: Pick<StructureChecker, 'check'>; readonly health: Health },
): Judge | undefined {
  const live = structureOf(request, structures);
  if (live === undefined) return undefined;

  async function hold(watch: StructureWatch, route: Route): Promise<StructuralDefect | undefined> {
    const { judged, defects } = await watch.verdict();
    for (const capability of judged) {
      health.structure(route, capability, !defects.some((defect) => defect.capability === capability));
    }
    // One that nobody can make use of decides, whatever else there is.
    return defects.find(({ isTolerable }) => !isTolerable) ?? defects[0];
  }

  return {
    whole: async (events, route) => {
      // Two attempts of a hedge may be whole at the same time: each has a watch of its own.
      const watch = structureOf(request, structures);
      watch?.take(events);
      return watch === undefined ? undefined : hold(watch, route);
    },
    take: live.take,
    streamed: (route) => void hold(live, route),
  };
}
