import type { PartialTurn, RequestTarget, Round } from '../../core/capability.ts';
import type { Content, Message, Request } from '../../core/request.ts';
import { webSearchName } from '../../core/web-search.ts';
import type { Engine, Fields } from '../../engines/engine.ts';
import { arrangeMessages } from '../arrange-messages.ts';
import { engines } from '../../engines/engines.ts';

function writeContent(content: Content): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.type === 'text'
      ? part
      : {
          type: 'image_url',
          image_url: part.detail === undefined ? { url: part.url } : { url: part.url, detail: part.detail },
        },
  );
}

function writeMessage(message: Message, engine: Engine): unknown {
  switch (message.role) {
    case 'system':
    case 'user':
      return { ...message, content: writeContent(message.content) };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: writeContent(message.content) };
    case 'assistant': {
      const { content, name, reasoning, toolCalls } = message;
      return {
        role: 'assistant',
        content: content === undefined ? null : writeContent(content),
        ...(name === undefined ? {} : { name }),
        ...(reasoning === undefined || engine.reasoningField === 'none' ? {} : { [engine.reasoningField]: reasoning }),
        ...(toolCalls === undefined
          ? {}
          : {
              tool_calls: toolCalls.map((call) => ({
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: call.arguments },
              })),
            }),
      };
    }
  }
}

/** What a model may call in a further round: nothing is forced any more, or it would be called without end. */
function toolsOf({ tools, toolChoice }: Request, round: Round | undefined): Pick<Request, 'tools' | 'toolChoice'> {
  if (round === undefined) return { tools, ...(toolChoice === undefined ? {} : { toolChoice }) };
  const offered = round.search === 'offered' ? tools : tools.filter(({ name }) => name !== webSearchName);
  return { tools: offered, toolChoice: toolChoice === 'none' ? 'none' : 'auto' };
}

function writeToolFields(
  { tools, toolChoice }: Pick<Request, 'tools' | 'toolChoice'>,
  { withholdsTools }: RequestTarget,
  engine: Engine,
): Fields {
  // Some engines refuse an empty list, so no tools is no field.
  if (tools.length === 0 || withholdsTools === true) return {};
  const alone = typeof toolChoice === 'object' && engine.namedToolAlone === true ? toolChoice.name : undefined;
  const offered = alone === undefined ? tools : tools.filter(({ name }) => name === alone);
  const written = offered.map(({ strict, ...tool }) => ({
    type: 'function',
    function: strict === undefined || !engine.strictTools ? tool : { ...tool, strict },
  }));
  if (toolChoice === undefined || toolChoice === 'auto') return { tools: written };
  if (alone !== undefined) return { tools: written, tool_choice: 'required' };
  const choice =
    typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.name } };
  return { tools: written, tool_choice: choice };
}

function writeSampling({ sampling }: Request, { parameters, continuation }: RequestTarget, engine: Engine): Fields {
  // One choice is continued at a time.
  const sent = continuation === undefined ? parameters : parameters.filter((name) => name !== 'n');
  return Object.fromEntries(sent.map((name) => [engine.names?.[name] ?? name, sampling[name]]));
}

/** The partial answer as the last turn, marked the way the engine wants it (docs/reference/engines.md §5). */
function writePartialTurn({ mark, text, reasoning }: PartialTurn, engine: Engine): unknown {
  const turn: Message = { role: 'assistant', content: text, ...(reasoning === undefined ? {} : { reasoning }) };
  const written = writeMessage(turn, engine);
  return mark === 'prefix' || mark === 'partial' ? Object.assign({}, written, { [mark]: true }) : written;
}

function writeContinuation(partial: PartialTurn | undefined): Fields {
  return partial?.mark === 'flag' ? { continue_final_message: true, add_generation_prompt: false } : {};
}

function writeStreamFields({ stream }: Request, engine: Engine): Fields {
  // Without a stream, stream_options is an error on some engines.
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

/**
 * Writes a request as the body of an engine's chat completions call. Only what we read is written: unknown keys and
 * end-user identifiers cannot get through.
 */
export function writeRequest(request: Request, target: RequestTarget): string {
  const engine = engines[target.engine];
  const { responseFormat } = request;
  const { round } = target;
  const { partial, maxOutputTokens = round?.maxOutputTokens ?? request.maxOutputTokens } = target.continuation ?? {};
  const turns = round === undefined ? request.messages : [...request.messages, ...round.turns];
  const arranged = target.form === undefined ? turns : arrangeMessages(turns, target.form);
  const messages = arranged.map((message) => writeMessage(message, engine));
  const toolFields = writeToolFields(toolsOf(request, round), target, engine);
  return JSON.stringify({
    model: target.upstreamModel,
    messages: partial === undefined ? messages : [...messages, writePartialTurn(partial, engine)],
    ...writeContinuation(partial),
    ...writeSampling(request, target, engine),
    ...(maxOutputTokens === undefined ? {} : { [engine.capField]: maxOutputTokens }),
    ...toolFields,
    ...(responseFormat === undefined || responseFormat.type === 'text'
      ? {}
      : engine.writeResponseFormat(responseFormat)),
    ...(target.reasoning === undefined ? {} : engine.writeReasoning(target.reasoning)),
    ...writeStreamFields(request, engine),
    ...engine.extra?.({ stream: request.stream, sendsTools: 'tools' in toolFields }),
  });
}
