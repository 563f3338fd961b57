import type { Route } from '../../core/catalog.ts';
import { textDigest } from '../core/digests.ts';
import type { AnswerEvent, FinishReason } from '../../core/event.ts';
import type { Health, StructuralCapability } from '../core/health.ts';
import type { Request } from '../../core/request.ts';
import type { StructuralDefect, StructureChecker, StructureValidator } from '../core/structure.ts';
import { callMarkCharacters } from './call-in-text.ts';
import { type ChoiceCheck, type StructureWanted, validateChoice } from './validate-choice.ts';

interface StructureValidatorOptions {
  readonly structures: Pick<StructureChecker, 'check'>;
  readonly health: Pick<Health, 'structure'>;
  /** Called for every valid answer of a caller. */
  readonly retries: { readonly earn: (caller: string) => void };
  /** Id of the API key whose request it is. */
  readonly caller: string;
  /** How many routes may be asked. */
  readonly routes: number;
}

/** A defect of a whole answer. Whether the route or the schema is at fault is known only when the other routes have answered. */
interface HeldDefect {
  readonly route: Route;
  readonly defect: StructuralDefect;
}

/** Makes the validator of the answers to a request. Undefined when the request asks for no structure. */
export function createStructureValidator(
  request: StructuredAsk,
  { structures, health, retries, caller, routes }: StructureValidatorOptions,
): StructureValidator | undefined {
  const streamed = watchStructure(request, structures);
  if (streamed === undefined) return undefined;
  const held: HeldDefect[] = [];
  /** Capabilities for which some route gave a valid answer. */
  const met = new Set<StructuralCapability>();
  let digest: number | undefined;
  const asked = (): number => (digest ??= digestOf(request));

  async function validate(watch: StructureWatch, route: Route): Promise<readonly StructuralDefect[]> {
    const { checked, defects } = await watch.validate();
    for (const capability of checked) {
      if (defects.some((defect) => defect.capability === capability)) continue;
      met.add(capability);
      health.structure(route, { capability, result: 'valid', caller, asked });
    }
    if (checked.length > 0 && defects.length === 0) retries.earn(caller);
    return defects;
  }

  function report({ route, defect }: HeldDefect, isFaultOfRoute: boolean): void {
    const { capability } = defect;
    health.structure(route, { capability, result: isFaultOfRoute ? 'invalid' : 'missed', caller, asked });
  }

  return {
    validateWhole: async (events, { route }) => {
      // Two attempts of a hedge may be whole at the same time: each has a watch of its own.
      const watch = watchStructure(request, structures);
      watch?.take(events);
      const defects = watch === undefined ? [] : await validate(watch, route);
      for (const defect of firstOfEach(defects)) held.push({ route, defect });
      // A defect that makes the answer useless decides, whatever else is wrong.
      return defects.find(({ isTolerable }) => !isTolerable) ?? defects[0];
    },
    take: streamed.take,
    streamed: (route) =>
      void validate(streamed, route).then((defects) => {
        for (const defect of firstOfEach(defects)) report({ route, defect }, !defect.mayBeCallersFault);
      }),
    close: () => {
      // A route is at fault if another route gave a valid answer to the same request. If there is only one route, it is at fault if
      // the caller cannot be.
      for (const one of held.splice(0)) {
        const { capability, mayBeCallersFault } = one.defect;
        report(one, met.has(capability) || (routes === 1 && !mayBeCallersFault));
      }
    },
  };
}

/** Returns one defect of each capability. A defect that is the route's fault comes before one that may be the caller's. */
function firstOfEach(defects: readonly StructuralDefect[]): readonly StructuralDefect[] {
  const sorted = defects.toSorted((a, b) => Number(a.mayBeCallersFault) - Number(b.mayBeCallersFault));
  return [...new Map(sorted.toReversed().map((defect) => [defect.capability, defect])).values()];
}

const digestOf = ({ tools, toolChoice, responseFormat }: StructuredAsk): number =>
  textDigest(JSON.stringify([tools, toolChoice, responseFormat]));

/** The part of a request that decides the structure of its answer. */
export type StructuredAsk = Pick<Request, 'tools' | 'toolChoice' | 'responseFormat' | 'sampling'>;

export interface StructureFindings {
  /** Empty: nothing is wrong, as far as that could be checked. */
  readonly defects: readonly StructuralDefect[];
  /** The capabilities that were checked, valid or not. Capabilities that could not be checked are left out. */
  readonly checked: readonly StructuralCapability[];
}

/** Collects the parts of one answer that belong to its structure. */
type StructureWatch = NonNullable<ReturnType<typeof watchStructure>>;

/** Most UTF-16 units that are collected. A longer answer is not validated: it gets the benefit of the doubt. */
const maxCharacters = 8 * 1024 * 1024;

interface Collecting {
  text: string;
  readonly calls: Map<number, { readonly name: string; arguments: string }>;
  finish: FinishReason | undefined;
  isRefused: boolean;
  hasReasoned: boolean;
}

/** More tokens than an answer has that is empty on purpose. */
const fewTokens = 8;

/**
 * Makes a watch for one answer. Undefined when the request asks for no structure (docs/reference/endpoints.md §4.1: response_format,
 * tools).
 */
export function watchStructure(request: StructuredAsk, checker: Pick<StructureChecker, 'check'>) {
  const wanted = wantedOf(request);
  if (wanted === undefined) return undefined;
  const choices = new Map<number, Collecting>();
  let left = maxCharacters;
  /** Tokens of the answer without those of its reasoning, as the engine counted them last. */
  let tokens = 0;

  const nothing = { text: '', finish: undefined, isRefused: false, hasReasoned: false } as const;
  const collecting = (index: number): Collecting =>
    choices.getOrInsertComputed(index, () => ({ ...nothing, calls: new Map() }));

  function takeText(choice: Collecting, text: string): void {
    // Without a format any text will do, unless it begins as a call.
    const kept = wanted?.format === undefined ? text.slice(0, callMarkCharacters - choice.text.length) : text;
    left -= kept.length;
    choice.text += kept;
  }

  function take(event: AnswerEvent): void {
    switch (event.type) {
      case 'text-delta':
        takeText(collecting(event.choice), event.text);
        return;
      case 'refusal-delta':
        collecting(event.choice).isRefused = true;
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
        collecting(event.choice).hasReasoned = true;
        return;
      case 'vectors':
      case 'ranks':
        return;
      case 'usage':
        tokens = event.usage.completionTokens - (event.usage.reasoningTokens ?? 0);
    }
  }

  return {
    /** Collects events that are delivered, or would be delivered. */
    take: (events: readonly AnswerEvent[]): void => {
      for (const event of events) if (left >= 0) take(event);
      if (left < 0) choices.clear();
    },
    /** Validates the collected answer. Call it when the answer is whole. Never rejects. */
    validate: async (): Promise<StructureFindings> => {
      if (left < 0) return { defects: [], checked: [] };
      const answers = [...choices.values()];
      const isEmpty = answers.every(({ text, calls, hasReasoned }) => text === '' && calls.size === 0 && !hasReasoned);
      const isDropped = isEmpty && tokens > fewTokens;
      const checks = answers.flatMap(({ text, calls, finish, isRefused }) =>
        validateChoice({ text, calls: [...calls.values()], finish, isRefused, isDropped }, wanted, checker),
      );
      return findingsOf(await Promise.all(checks));
    },
  };
}

function wantedOf({
  tools,
  toolChoice = 'auto',
  responseFormat,
  sampling,
}: StructuredAsk): StructureWanted | undefined {
  const format = responseFormat?.type === 'text' ? undefined : responseFormat;
  if (tools.length === 0 && format === undefined) return undefined;
  const hasStops = sampling.stop !== undefined && sampling.stop.length > 0;
  return { tools, toolChoice, hasStops, format };
}

function findingsOf(checks: readonly ChoiceCheck[]): StructureFindings {
  const decided = checks.filter(({ result }) => result.kind !== 'unknown');
  return {
    checked: [...new Set(decided.map(({ capability }) => capability))],
    defects: decided.flatMap(({ result, ...check }) =>
      result.kind === 'invalid' ? [{ ...check, detail: result.detail }] : [],
    ),
  };
}
