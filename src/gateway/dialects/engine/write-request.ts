import type { OwnField, PartialTurn, RequestTarget, Round } from '../../../core/capability.ts';
import { writeKeepingText } from '../../../core/json-text.ts';
import { engineWord, parameterNames } from '../../../core/parameters.ts';
import type { Request } from '../../../core/request.ts';
import { webSearchName } from '../../../core/web-search.ts';
import type { Engine, Fields } from '../../engines/engine.ts';
import { arrangeMessages } from '../arrange-messages.ts';
import { engines } from '../../engines/engines.ts';
import { demandsOfModel, type MessageDemands } from '../../engines/message-demands.ts';
import { type MessageWriting, writeAssistantTurn, writeMessages } from './write-messages.ts';

/**
 * Writes a request as the body of an engine's chat completions call. Only fields that were read are written, so that unknown keys
 * and end-user identifiers cannot pass.
 */
export function writeRequest(request: Request, target: RequestTarget): string {
  const named = demandsOfModel([target.upstreamModel, request.modelName]);
  const engine = engineFor(target, named);
  const { responseFormat } = request;
  const { round } = target;
  const { partial, maxOutputTokens: left = round?.maxOutputTokens ?? request.maxOutputTokens } =
    target.continuation ?? {};
  const cap = Math.min(left ?? Infinity, target.maxOutputTokens ?? Infinity);
  const turns = round === undefined ? request.messages : [...request.messages, ...round.turns];
  const arranged = target.form === undefined ? turns : arrangeMessages(turns, target.form);
  const demands = { ...engine.demands, ...named };
  const writing = { engine, target, demands };
  const messages = writeMessages(arranged, writing);
  const toolFields = writeToolFields(toolsOf(request, round), target, engine);
  const conversation = JSON.stringify({
    model: target.upstreamModel,
    messages: partial === undefined ? messages : [...messages, writePartialTurn(partial, writing)],
  });
  // Schemas are sent as the caller wrote them. Nothing else is as costly to write.
  const write = request.tools.length > 0 || responseFormat !== undefined ? writeKeepingText : JSON.stringify;
  const rest = write({
    ...writeContinuation(partial),
    ...writeSampling(request, target),
    cache_salt: target.cacheSalt,
    [engine.capField]: cap === Infinity ? undefined : cap,
    ...toolFields,
    ...(responseFormat && responseFormat.type !== 'text' && engine.writeResponseFormat(responseFormat)),
    ...(target.reasoning && asksForReasoning(request, target) && engine.writeReasoning(target.reasoning)),
    ...writeStreamFields(request, engine),
    ...engine.extra?.({ stream: request.stream, sendsTools: 'tools' in toolFields }),
  });
  return `${conversation.slice(0, -1)},${rest.slice(1)}`;
}

const otherCap = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const;

/** The engine of a route, with the field of the trace that its model demands. */
function engineOf(name: RequestTarget['engine'], { traceField }: MessageDemands): Engine {
  const engine = engines[name];
  if (traceField === undefined || engine.reasoningField !== 'none') return engine;
  return { ...engine, reasoningField: traceField, demands: { ...engine.demands, missingTrace: '' } };
}

/** A route's engine, without the service's own fields that the route does not know. */
function engineFor({ engine: name, unknownFields }: RequestTarget, named: MessageDemands = {}): Engine {
  const engine = engineOf(name, named);
  if (unknownFields === undefined) return engine;
  const lacks = (field: OwnField): boolean => unknownFields.includes(field);
  const { capField, reasoningField, streamUsage } = engine;
  const counted = lacks('runningUsage') && streamUsage === 'continuous' ? 'include' : streamUsage;
  return {
    ...engine,
    capField: lacks('cap') ? otherCap[capField] : capField,
    reasoningField: lacks('trace') ? 'none' : reasoningField,
    streamUsage: lacks('streamUsage') ? 'always' : counted,
    ...(lacks('toolStream') && { extra: () => ({}) }),
  };
}

/** Whether the request says how to reason. The model's usual reasoning is left out on a route that does not know its field. */
const asksForReasoning = ({ reasoning }: Request, { unknownFields = [] }: RequestTarget): boolean =>
  reasoning !== undefined || !unknownFields.includes('reasoning');

/** The tools of a request. No tool is forced in a further round, or the model would call it without end. */
function toolsOf({ tools, toolChoice }: Request, round: Round | undefined): Pick<Request, 'tools' | 'toolChoice'> {
  if (round === undefined) return { tools, toolChoice };
  const offered = round.search === 'offered' ? tools : tools.filter(({ name }) => name !== webSearchName);
  return { tools: offered, toolChoice: toolChoice === 'none' ? 'none' : 'auto' };
}

function writeToolFields(
  { tools, toolChoice }: Pick<Request, 'tools' | 'toolChoice'>,
  { withholdsTools }: RequestTarget,
  engine: Engine,
): Fields {
  // Some engines refuse an empty list.
  if (tools.length === 0 || withholdsTools === true) return {};
  const alone = typeof toolChoice === 'object' && engine.namedToolAlone === true ? toolChoice.name : undefined;
  const offered = alone === undefined ? tools : tools.filter(({ name }) => name === alone);
  const written = offered.map(({ strict, ...tool }) => ({
    type: 'function',
    function: engine.strictTools ? { ...tool, strict } : tool,
  }));
  if (toolChoice === undefined || toolChoice === 'auto') return { tools: written };
  if (alone !== undefined) return { tools: written, tool_choice: 'required' };
  const choice =
    typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.name } };
  return { tools: written, tool_choice: choice };
}

function writeSampling({ sampling }: Request, target: RequestTarget): Fields {
  const { engine, parameters, continuation, sampling: own = {} } = target;
  // A call that continues an answer asks for one choice only.
  const sent = continuation === undefined ? parameters : parameters.filter((name) => name !== 'n');
  const added = parameterNames.filter((name) => own[name] !== undefined && sampling[name] === undefined);
  return Object.fromEntries([...sent, ...added].map((name) => [engineWord(name, engine), own[name] ?? sampling[name]]));
}

/** The partial answer as the last turn, marked as the engine wants it (docs/reference/engines.md §5). */
function writePartialTurn({ mark, text, reasoning }: PartialTurn, writing: MessageWriting): unknown {
  const written = writeAssistantTurn({ role: 'assistant', content: text, reasoning }, { ...writing, demands: {} });
  return mark === 'prefix' || mark === 'partial' ? { ...written, [mark]: true } : written;
}

function writeContinuation(partial: PartialTurn | undefined): Fields {
  return partial?.mark === 'flag' ? { continue_final_message: true, add_generation_prompt: false } : {};
}

function writeStreamFields({ stream }: Request, engine: Engine): Fields {
  // Some engines refuse stream_options without a stream.
  if (!stream) return { stream: false };
  switch (engine.streamUsage) {
    case 'include':
      return { stream: true, stream_options: { include_usage: true } };
    case 'continuous':
      return { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } };
    case 'always':
      return { stream: true };
  }
}
