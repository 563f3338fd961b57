import type { AnswerEvent, FinishReason } from '../core/event.ts';
import type { StructuralCapability } from '../core/health.ts';
import type { Request } from '../core/request.ts';
import type { StructuralDefect, StructureChecker } from '../core/structure.ts';
import { type CollectedChoice, type Finding, judgeChoice, type StructureWanted } from './judge-choice.ts';

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
