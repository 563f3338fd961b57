import type { Route } from '../core/catalog.ts';
import type { AnswerEvent, FinishReason } from '../core/event.ts';
import type { Health, StructuralCapability } from '../core/health.ts';
import { textDigest } from '../core/digests.ts';
import type { Request } from '../core/request.ts';
import type { StructuralDefect, StructureChecker } from '../core/structure.ts';
import type { StructureRetries } from './retries.ts';
import { type CollectedChoice, type Finding, judgeChoice, type StructureWanted } from './validate-choice.ts';

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

export interface StructureFindings {
  /** Empty: nothing is wrong, as far as it could be told. */
  readonly defects: readonly StructuralDefect[];
  /** What was judged, sound or not; what could not be told is not among it. */
  readonly judged: readonly StructuralCapability[];
}

/** Watches one answer for the structure its request asks for. */
export interface StructureWatch {
  /** Takes what is delivered, or would be. */
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** Judges what was taken, when the answer is whole. Never rejects. */
  readonly verdict: () => Promise<StructureFindings>;
}

/** A longer answer is not kept for judging: it gets the benefit of the doubt. */
const maxCharacters = 8 * 1024 * 1024;
const nothing: StructureFindings = { defects: [], judged: [] };

interface Collecting {
  text: string;
  readonly calls: Map<number, { readonly name: string; arguments: string }>;
  finish: FinishReason | undefined;
  refused: boolean;
}

/** What of a request bears on the structure of its answer. */
export type StructuredAsk = Pick<Request, 'tools' | 'toolChoice' | 'responseFormat' | 'sampling'>;

function wantedOf(request: StructuredAsk): StructureWanted | undefined {
  const { tools, toolChoice = 'auto', responseFormat, sampling } = request;
  const format = responseFormat?.type === 'text' ? undefined : responseFormat;
  if (tools.length === 0 && format === undefined) return undefined;
  const hasStops = sampling.stop !== undefined && sampling.stop.length > 0;
  return { tools, toolChoice, hasStops, ...(format === undefined ? {} : { format }) };
}

function merge(findings: readonly Finding[]): StructureFindings {
  const told = findings.filter(({ verdict }) => verdict.kind !== 'unknown');
  return {
    judged: [...new Set(told.map(({ capability }) => capability))],
    defects: told.flatMap(({ capability, verdict, isTolerable }) =>
      verdict.kind === 'defective'
        ? [{ capability, detail: verdict.detail, isTolerable, missesSchema: verdict.missesSchema === true }]
        : [],
    ),
  };
}

/**
 * The watch over an answer's structure (docs/reference/api.md §4.1: response_format, tools). Undefined when the request
 * asks for none.
 */
export function structureOf(
  request: StructuredAsk,
  checker: Pick<StructureChecker, 'check'>,
): StructureWatch | undefined {
  const wanted = wantedOf(request);
  if (wanted === undefined) return undefined;
  const choices = new Map<number, Collecting>();
  let left = maxCharacters;

  function collecting(index: number): Collecting {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const fresh: Collecting = { text: '', calls: new Map(), finish: undefined, refused: false };
    choices.set(index, fresh);
    return fresh;
  }

  function takeOne(event: AnswerEvent): void {
    switch (event.type) {
      case 'text-delta':
        // Without a format nobody asks what the text is.
        if (wanted?.format === undefined) return;
        left -= event.text.length;
        collecting(event.choice).text += event.text;
        return;
      case 'refusal-delta':
        collecting(event.choice).refused = true;
        return;
      case 'tool-start':
        left -= event.name.length;
        collecting(event.choice).calls.set(event.tool, { name: event.name, arguments: '' });
        return;
      case 'tool-delta': {
        left -= event.text.length;
        const call = collecting(event.choice).calls.get(event.tool);
        if (call !== undefined) call.arguments += event.text;
        return;
      }
      case 'finish':
        collecting(event.choice).finish = event.reason;
        return;
      case 'reasoning-delta':
      case 'usage':
    }
  }

  return {
    take: (events) => {
      for (const event of events) if (left >= 0) takeOne(event);
      if (left < 0) choices.clear();
    },
    verdict: async () => {
      if (left < 0) return nothing;
      const asks = [...choices.values()].flatMap((choice) => {
        const { text, calls, finish, refused } = choice;
        const collected: CollectedChoice = { text, calls: [...calls.values()], finish, refused };
        return judgeChoice(collected, wanted, checker);
      });
      return merge(await Promise.all(asks));
    },
  };
}
