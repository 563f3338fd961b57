import type { Content, Message, Tool, ToolCall } from '../core/request.ts';
import { asPythonNumber } from './python-number.ts';

/** What a chat template reads: the OpenAI shapes, with arguments as objects, as engines hand them over. */
type TemplateValue = Readonly<Record<string, unknown>>;

/**
 * Reads the arguments of a call into an object, as vLLM and SGLang do before they render; text that is no object stays as
 * it is. Numbers keep the spelling they had.
 */
function readArguments(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text, (_key, part, context) =>
      typeof part === 'number' && context.source !== undefined ? asPythonNumber(part, context.source) : part,
    );
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : text;
  } catch {
    return text;
  }
}

function writeContent(content: Content): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image' }));
}

function writeCall(call: ToolCall): TemplateValue {
  return {
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments === '' ? {} : readArguments(call.arguments) },
  };
}

function writeMessage(message: Message): TemplateValue {
  switch (message.role) {
    case 'system':
    case 'user':
      return { ...message, content: writeContent(message.content) };
    case 'tool':
      return { role: 'tool', content: writeContent(message.content), tool_call_id: message.toolCallId };
    case 'assistant': {
      const { content, name, reasoning, toolCalls } = message;
      return {
        role: 'assistant',
        // Engines render an absent text as an empty one; None would be written out by most templates.
        content: content === undefined ? '' : writeContent(content),
        ...(name !== undefined && { name }),
        // The two names that templates read it under.
        ...(reasoning !== undefined && { reasoning_content: reasoning, reasoning }),
        ...(toolCalls !== undefined && { tool_calls: toolCalls.map(writeCall) }),
      };
    }
  }
}

/** Numbers as Python reads them from the JSON that goes upstream. */
function withPythonNumbers(value: unknown): unknown {
  if (typeof value === 'number') return asPythonNumber(value, JSON.stringify(value));
  if (Array.isArray(value)) return value.map(withPythonNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withPythonNumbers(inner)]));
}

function writeTool(tool: Tool): TemplateValue {
  return { type: 'function', function: withPythonNumbers(tool) };
}

export function writeMessages(messages: readonly Message[]): readonly TemplateValue[] {
  return messages.map(writeMessage);
}

/** The tools as a template expects them; undefined, as if never passed, when there are none. */
export function writeTools(tools: readonly Tool[]): readonly TemplateValue[] | undefined {
  return tools.length === 0 ? undefined : tools.map(writeTool);
}
