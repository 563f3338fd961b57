import type { FinishReason } from '../core/event.ts';
import type { StructuralCapability } from '../core/health.ts';
import type { ResponseFormat, Tool, ToolCall, ToolChoice } from '../core/request.ts';
import type { StructureAsk, StructureChecker, StructureVerdict } from '../core/structure.ts';
import { createJsonPrefix } from './json-prefix.ts';

/** What a request asks of an answer's structure. */
export interface StructureWanted {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** The caller has named sequences at which the answer ends, wherever that may be. */
  readonly hasStops: boolean;
  readonly format?: Exclude<ResponseFormat, { readonly type: 'text' }>;
}

/** One choice of an answer, as far as it came. */
export interface CollectedChoice {
  readonly text: string;
  readonly calls: readonly Omit<ToolCall, 'id'>[];
  readonly finish: FinishReason | undefined;
  readonly refused: boolean;
}

/** What one check told of one capability. */
export interface Finding {
  readonly capability: StructuralCapability;
  readonly verdict: StructureVerdict;
  /** Of a defect: see `StructuralDefect`. */
  readonly isTolerable: boolean;
}

const defect = (detail: string): StructureVerdict => ({ kind: 'defective', detail });

/**
 * Whether a choice says all it had to say. One that was cut by the caller's own cap or stop sequence, filtered, or is a
 * refusal is relayed as it is (docs/reference/api.md §4.1, §7.4): nobody promised that half an object parses.
 */
function isJudged(choice: CollectedChoice, { hasStops }: StructureWanted): boolean {
  const { finish, refused, calls, text } = choice;
  if (refused || (finish !== 'stop' && finish !== 'tool_calls')) return false;
  return !hasStops || !isCut(calls.at(-1)?.arguments ?? text);
}

/** Whether a text is the beginning of some JSON, and no more. */
function isCut(text: string): boolean {
  const json = createJsonPrefix();
  return json.push(text) && !json.isWhole();
}

/** An answer in words may still be of use to who demanded a call. */
const missingCall: Finding = {
  ...{ capability: 'tools', isTolerable: true },
  verdict: defect('no call where one was demanded'),
};

const strictOf = (format: NonNullable<StructureWanted['format']>): boolean | undefined =>
  format.type === 'json_schema' ? format.strict : undefined;

/** What the text must be. Without a schema engines are asked for an object, in either format. */
function askOf(text: string, format: NonNullable<StructureWanted['format']>): StructureAsk {
  const schema = format.type === 'json_schema' ? format.schema : undefined;
  return schema === undefined ? { text } : { text, schema, top: 'any' };
}

async function judgeCall(
  call: CollectedChoice['calls'][number],
  { tools, toolChoice }: StructureWanted,
  { check }: Pick<StructureChecker, 'check'>,
): Promise<StructureVerdict> {
  if (toolChoice === 'none') return defect('a call where none was allowed');
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) return defect('a call of a tool that was not offered');
  if (typeof toolChoice === 'object' && toolChoice.name !== tool.name) return defect('a call of another tool');
  const { parameters } = tool;
  // A tool without arguments: some engines say nothing where others say `{}`.
  const text = call.arguments === '' ? '{}' : call.arguments;
  return check({ text, ...(parameters === undefined ? {} : { schema: parameters }) });
}

/**
 * Begins the checks of one choice. Each call is one of the offered tools, with an object as its arguments that the tool's
 * parameters allow; a call that was demanded is there; text without calls is of the format. Reasoning is not looked at.
 */
export function judgeChoice(
  choice: CollectedChoice,
  wanted: StructureWanted,
  checker: Pick<StructureChecker, 'check'>,
): readonly Promise<Finding>[] {
  if (!isJudged(choice, wanted)) return [];
  const { text, calls } = choice;
  const { toolChoice, format } = wanted;
  const finding = async (
    capability: StructuralCapability,
    judged: StructureVerdict | Promise<StructureVerdict>,
    strict: boolean | undefined,
  ): Promise<Finding> => {
    const verdict = await judged;
    const isTolerable = verdict.kind === 'defective' && verdict.missesSchema === true && strict !== true;
    return { capability, verdict, isTolerable };
  };
  if (calls.length > 0) {
    return calls.map((call) => {
      const tool = wanted.tools.find(({ name }) => name === call.name);
      return finding('tools', judgeCall(call, wanted, checker), tool?.strict);
    });
  }
  const isCallMissing = toolChoice === 'required' || typeof toolChoice === 'object';
  return [
    ...(isCallMissing ? [Promise.resolve(missingCall)] : []),
    ...(format === undefined ? [] : [finding(format.type, checker.check(askOf(text, format)), strictOf(format))]),
  ];
}
