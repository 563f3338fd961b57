import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import type { Content, Message, Tool, ToolCall } from '../../core/request.ts';
import type { Prompt } from '../../core/prompt.ts';
import { applyPythonRules, asPythonNumber, pythonFunctions, PythonNumber } from './python-rules.ts';

/** Writes a prompt's text, the beginning of the answer included. Throws whatever the template throws. */
export type ChatTemplate = (prompt: Prompt) => string;

interface TemplateOptions {
  readonly specialTokens: Readonly<Record<string, string>>;
  /** Wall clock, for templates that write the date. */
  readonly now: () => number;
}

/** Compiles a model's chat template by the rules of transformers. Throws what the parser throws. */
export function compileChatTemplate(source: string, { specialTokens, now }: TemplateOptions): ChatTemplate {
  const program = parse(tokenize(source, { trim_blocks: true, lstrip_blocks: true }));
  applyPythonRules(program);
  return (prompt) => {
    const environment = new Environment();
    const values = {
      ...globals(now),
      ...specialTokens,
      ...prompt.templateArguments,
      messages: prompt.messages.map(writeMessage),
      tools: prompt.tools.length === 0 ? null : prompt.tools.map(writeTool),
      documents: null,
      add_generation_prompt: true,
    };
    for (const [name, value] of Object.entries(values)) placeNumbers(environment.set(name, value), value);
    return String(new Interpreter(environment).run(program).value);
  };
}

const maxRangeLength = 1_000_000;

function range(...args: readonly number[]): readonly number[] {
  const [start = 0, stop = 0, step = 1] = args.length === 1 ? [0, ...args] : args;
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!Number.isFinite(length) || length > maxRangeLength) throw new RangeError('range: expected a shorter one');
  return Array.from({ length }, (_, index) => start + index * step);
}

function raise(): never {
  // The message of the template may quote the prompt.
  throw new Error('the template refused the messages');
}

/** The values that transformers passes to every template (`_render_with_assistant_indices`, `_compile_jinja_template`). */
function globals(now: () => number): Readonly<Record<string, unknown>> {
  return {
    true: true,
    false: false,
    none: null,
    True: true,
    False: false,
    None: null,
    range,
    raise_exception: raise,
    strftime_now: (format: unknown) => pythonDate(now(), String(format)),
    ...pythonFunctions,
  };
}

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (value: number): string => String(value).padStart(2, '0');

/** Python's `strftime` in UTC, which is the time zone of engines in containers, for the codes that templates use. */
function pythonDate(now: number, format: string): string {
  const date = new Date(now);
  const month = months[date.getUTCMonth()] ?? '';
  const day = days[date.getUTCDay()] ?? '';
  const hour = date.getUTCHours();
  const codes: Readonly<Record<string, string>> = {
    Y: String(date.getUTCFullYear()),
    y: two(date.getUTCFullYear() % 100),
    m: two(date.getUTCMonth() + 1),
    d: two(date.getUTCDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(hour),
    I: two(hour % 12 === 0 ? 12 : hour % 12),
    p: hour < 12 ? 'AM' : 'PM',
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    '%': '%',
  };
  return format.replaceAll(/%(.)/gu, (whole, code: string) => codes[code] ?? whole);
}

interface RuntimeValue {
  readonly value: unknown;
}

const isRuntimeValue = (value: unknown): value is RuntimeValue =>
  typeof value === 'object' && value !== null && 'value' in value;

/**
 * Makes a float of the Jinja package whose value is a `PythonNumber`. If the package got the number itself, it would make an object
 * of it.
 */
function floatOf(number: PythonNumber): unknown {
  const float: unknown = new Environment().set('number', 0.5);
  if (isRuntimeValue(float)) Reflect.set(float, 'value', number);
  return float;
}

/**
 * Puts the `PythonNumber`s of `source` into the values that the Jinja package made of it, walking through both in
 * parallel. Texts are not copied.
 */
function placeNumbers(made: unknown, source: unknown): void {
  if (!isRuntimeValue(made) || typeof source !== 'object' || source === null) return;
  const { value } = made;
  if (Array.isArray(value) && Array.isArray(source)) {
    source.forEach((part: unknown, index) => {
      if (part instanceof PythonNumber) value[index] = floatOf(part);
      else placeNumbers(value[index], part);
    });
  } else if (value instanceof Map) {
    for (const [key, part] of Object.entries(source)) {
      if (part instanceof PythonNumber) value.set(key, floatOf(part));
      else placeNumbers(value.get(key), part);
    }
  }
}

/** What a chat template reads: messages and tools as in the OpenAI API, with arguments as objects, as engines pass them. */
type TemplateValue = Readonly<Record<string, unknown>>;

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
        // Templates read the reasoning under either name.
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
