import type { EngineName } from '../../core/catalog.ts';
import type { Content, Message, Request } from '../../core/request.ts';
import { type Engine, engines } from '../engines/table.ts';

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

function writeToolFields({ tools, toolChoice }: Request): Record<string, unknown> {
  // Some engines refuse an empty list, so no tools is no field.
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => ({ type: 'function', function: tool })),
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.name } },
        }),
  };
}

function writeResponseFormat({ responseFormat }: Request): Record<string, unknown> {
  if (responseFormat === undefined || responseFormat.type === 'text') return {};
  if (responseFormat.type === 'json_object') return { response_format: { type: 'json_object' } };
  const { type, ...schema } = responseFormat;
  return { response_format: { type, json_schema: schema } };
}

function writeStreamFields({ stream }: Request, engine: Engine): Record<string, unknown> {
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

/** Where a request goes, as far as its body is concerned. */
export interface RequestTarget {
  readonly engine: EngineName;
  readonly upstreamModel: string;
}

/**
 * Writes a request as the body of an engine's chat completions call. Only what we read is written: unknown keys and
 * end-user identifiers cannot get through.
 */
export function writeRequest(request: Request, target: RequestTarget): string {
  const engine = engines[target.engine];
  return JSON.stringify({
    model: target.upstreamModel,
    messages: request.messages.map((message) => writeMessage(message, engine)),
    ...request.sampling,
    ...(request.maxOutputTokens === undefined ? {} : { [engine.capField]: request.maxOutputTokens }),
    ...writeToolFields(request),
    ...writeResponseFormat(request),
    ...writeStreamFields(request, engine),
  });
}
