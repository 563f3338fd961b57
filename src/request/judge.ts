import type { Route } from '../core/catalog.ts';
import type { AnswerEvent } from '../core/event.ts';
import type { Health, StructuralCapability } from '../core/health.ts';
import { textDigest } from './prompt-digests.ts';
import type { StructuralDefect, StructureChecker } from '../core/structure.ts';
import { type StructuredAsk, structureOf, type StructureWatch } from '../dispatch/structure.ts';
import type { StructureRetries } from '../dispatch/structure-retries.ts';

/** Judges the structure of one request's answers, and holds a defect against the route (docs/reference/api.md §4.1). */
export interface Judge {
  /** Judges a whole answer, before it is relayed. Undefined: it is sound, or nobody can tell. */
  readonly whole: (events: readonly AnswerEvent[], route: Route) => Promise<StructuralDefect | undefined>;
  /** Takes a piece of a stream, which is relayed meanwhile. */
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** The stream is complete, and all of it came from this route. */
  readonly streamed: (route: Route) => void;
  /** No further answer comes: call it once, after the last of `whole`. */
  readonly close: () => void;
}

export interface JudgeOptions {
  readonly structures: Pick<StructureChecker, 'check'>;
  readonly health: Pick<Health, 'structure'>;
  readonly retries: StructureRetries;
  /** Id of the API key whose request it is. */
  readonly caller: string;
  /** How many routes may be asked. */
  readonly routes: number;
}

/** A defect of a whole answer: whose fault it is turns out when the other routes have answered. */
interface Held {
  readonly route: Route;
  readonly defect: StructuralDefect;
}

/** Undefined when the request asks for no structure. */
export function judgeFor(request: StructuredAsk, options: JudgeOptions): Judge | undefined {
  const { structures, health, retries, caller, routes } = options;
  const live = structureOf(request, structures);
  if (live === undefined) return undefined;
  const held: Held[] = [];
  const met = new Set<StructuralCapability>();
  let digest: number | undefined;
  const asked = (): number => (digest ??= digestOf(request));

  async function judge(watch: StructureWatch, route: Route): Promise<readonly StructuralDefect[]> {
    const { judged, defects } = await watch.verdict();
    for (const capability of judged) {
      if (defects.some((defect) => defect.capability === capability)) continue;
      met.add(capability);
      health.structure(route, { capability, verdict: 'sound', caller, asked });
    }
    if (judged.length > 0 && defects.length === 0) retries.earn(caller);
    return defects;
  }

  function blame({ route, defect }: Held, isProven: boolean): void {
    const { capability } = defect;
    health.structure(route, { capability, verdict: isProven ? 'defective' : 'missed', caller, asked });
  }

  return {
    whole: async (events, route) => {
      // Two attempts of a hedge may be whole at the same time: each has a watch of its own.
      const watch = structureOf(request, structures);
      watch?.take(events);
      const defects = watch === undefined ? [] : await judge(watch, route);
      for (const defect of firstOfEach(defects)) held.push({ route, defect });
      // One that nobody can make use of decides, whatever else there is.
      return defects.find(({ isTolerable }) => !isTolerable) ?? defects[0];
    },
    take: live.take,
    streamed: (route) =>
      void judge(live, route).then((defects) => {
        for (const defect of firstOfEach(defects)) blame({ route, defect }, !defect.missesSchema);
      }),
    close: () => {
      // What another route gave the same request can be given. Where there is no other route, what is not even of the form
      // that every schema has is the route's fault.
      for (const one of held.splice(0)) {
        const { capability, missesSchema } = one.defect;
        blame(one, met.has(capability) || (routes === 1 && !missesSchema));
      }
    },
  };
}

/** One defect of each capability, one that is the route's own before those that may be the schema's. */
function firstOfEach(defects: readonly StructuralDefect[]): readonly StructuralDefect[] {
  const sorted = defects.toSorted((a, b) => Number(a.missesSchema) - Number(b.missesSchema));
  return [...new Map(sorted.toReversed().map((defect) => [defect.capability, defect])).values()];
}

const digestOf = ({ tools, toolChoice, responseFormat }: StructuredAsk): number =>
  textDigest(JSON.stringify([tools, toolChoice, responseFormat]));
