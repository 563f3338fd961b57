import type { FinishReason } from '../../core/event.ts';
import type { StructuralCapability } from '../core/health.ts';
import type { ResponseFormat, Tool, ToolCall, ToolChoice } from '../../core/request.ts';
import type { StructureAsk, StructureChecker, StructureResult } from '../core/structure.ts';
import { readJsonBeginning } from '../core/json-prefix.ts';
import { beginsAsCall } from './call-in-text.ts';

type StructuredFormat = Exclude<ResponseFormat, { readonly type: 'text' }>;

/** What a request asks of an answer's structure. */
export interface StructureWanted {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** The caller has named sequences at which the answer ends, wherever that may be. */
  readonly hasStops: boolean;
  readonly format: StructuredFormat | undefined;
}

/** One choice of an answer, as far as it was received. */
interface CollectedChoice {
  readonly text: string;
  readonly calls: readonly Omit<ToolCall, 'id'>[];
  readonly finish: FinishReason | undefined;
  readonly isRefused: boolean;
  /** The engine counted tokens, and sent nothing. */
  readonly isDropped: boolean;
}

export interface ChoiceCheck {
  readonly capability: StructuralCapability;
  readonly result: StructureResult;
  /** These two count for an invalid answer only: see `StructuralDefect`. */
  readonly isTolerable: boolean;
  readonly mayBeCallersFault: boolean;
}

/**
 * Begins the checks of one choice. Each call must name an offered tool, and its arguments must be an object that the tool's
 * parameters allow. A call that was demanded must be there. Text without calls must not be a call that the engine could not read
 * (docs/reference/engines.md §6), and must have the format. Reasoning is not checked.
 */
export function validateChoice(
  choice: CollectedChoice,
  wanted: StructureWanted,
  checker: Pick<StructureChecker, 'check'>,
): readonly Promise<ChoiceCheck>[] {
  if (!isComplete(choice, wanted)) return [];
  const { text, calls, isDropped } = choice;
  const { toolChoice, format } = wanted;
  if (calls.length > 0) {
    return calls.map((call) => checkCall(call, wanted, checker));
  }
  const isCallMissing = toolChoice === 'required' || typeof toolChoice === 'object';
  const isCallUnread = wanted.tools.length > 0 && toolChoice !== 'none' && (isDropped || beginsAsCall(text));
  return [
    ...(isCallMissing ? [Promise.resolve(missingCall)] : isCallUnread ? [Promise.resolve(unreadCall)] : []),
    ...(format === undefined ? [] : [checkOf(format.type, checker.check(askOf(text, format)), strictOf(format))]),
  ];
}

/**
 * Whether a choice must have the structure that was asked for. A choice that was cut by the caller's own cap or stop sequence, that
 * was filtered, or that is a refusal is relayed as it is (docs/reference/endpoints.md §4.1, docs/reference/api.md §7.4): half an object was never promised to
 * parse.
 */
function isComplete(choice: CollectedChoice, { hasStops }: StructureWanted): boolean {
  const { finish, isRefused, calls, text } = choice;
  if (isRefused || (finish !== 'stop' && finish !== 'tool_calls')) return false;
  return !hasStops || !isCut(calls.at(-1)?.arguments ?? text);
}

/** Whether a text is the beginning of some JSON, and no more. */
const isCut = (text: string): boolean => readJsonBeginning(text)?.isWhole === false;

async function checkOf(
  capability: StructuralCapability,
  checking: StructureResult | Promise<StructureResult>,
  strict: boolean | undefined,
): Promise<ChoiceCheck> {
  const result = await checking;
  const missesSchema = result.kind === 'invalid' && result.missesSchema === true;
  return { capability, result, isTolerable: missesSchema && strict !== true, mayBeCallersFault: missesSchema };
}

/**
 * Checks one call. Agents tell the model what is wrong with a call, and the model calls again. So a defective one is relayed if no
 * route does better, as it is on a stream; only `strict` promises more. A prompt can make a model call a tool that is not there.
 */
async function checkCall(
  call: CollectedChoice['calls'][number],
  wanted: StructureWanted,
  checker: Pick<StructureChecker, 'check'>,
): Promise<ChoiceCheck> {
  const tool = wanted.tools.find(({ name }) => name === call.name);
  const checked = await checkOf('tools', validateCall(call, { ...wanted, tool }, checker), tool?.strict);
  const missesStrict = tool?.strict === true && checked.mayBeCallersFault;
  return {
    ...checked,
    isTolerable: !missesStrict,
    mayBeCallersFault: checked.mayBeCallersFault || (tool === undefined && wanted.toolChoice !== 'none'),
  };
}

async function validateCall(
  call: CollectedChoice['calls'][number],
  { tool, toolChoice }: Pick<StructureWanted, 'toolChoice'> & { readonly tool: Tool | undefined },
  { check }: Pick<StructureChecker, 'check'>,
): Promise<StructureResult> {
  if (toolChoice === 'none') return invalid('a call where none was allowed');
  if (tool === undefined) return invalid('a call of a tool that was not offered');
  if (typeof toolChoice === 'object' && toolChoice.name !== tool.name) return invalid('a call of another tool');
  // For a tool without arguments some engines write nothing where others write `{}`.
  return check({ text: call.arguments === '' ? '{}' : call.arguments, schema: tool.parameters });
}

const invalid = (detail: string): StructureResult => ({ kind: 'invalid', detail });

/** An answer in words may still be of use to a caller that demanded a call. */
const missingCall: ChoiceCheck = {
  capability: 'tools',
  isTolerable: true,
  mayBeCallersFault: false,
  result: invalid('no call where one was demanded'),
};

/**
 * The model's call was malformed, or the engine has no parser for it, and left it in the text or dropped it. A prompt can make a
 * model write such a text, too.
 */
const unreadCall: ChoiceCheck = {
  capability: 'tools',
  isTolerable: true,
  mayBeCallersFault: true,
  result: invalid('a call that the engine could not read'),
};

const strictOf = (format: StructuredFormat): boolean | undefined =>
  format.type === 'json_schema' ? format.strict : undefined;

/** Returns the structure that the text must have. Without a schema, engines are asked for an object, in either format. */
function askOf(text: string, format: StructuredFormat): StructureAsk {
  const schema = format.type === 'json_schema' ? format.schema : undefined;
  return schema === undefined ? { text } : { text, schema, top: 'any' };
}
