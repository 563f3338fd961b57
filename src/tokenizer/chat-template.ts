import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import type { Prompt } from '../core/prompt.ts';
import { applyPythonRules, pythonFunctions } from './python-rules.ts';
import { writeMessages, writeTools } from './template-messages.ts';
import { PythonNumber } from './python-number.ts';

interface RuntimeValue {
  readonly value: unknown;
}

const isRuntimeValue = (value: unknown): value is RuntimeValue =>
  typeof value === 'object' && value !== null && 'value' in value;

/** The package makes objects of what it does not know, so a float of its own is made and given the other number. */
function floatOf(number: PythonNumber): unknown {
  const float: unknown = new Environment().set('number', 0.5);
  if (isRuntimeValue(float)) Reflect.set(float, 'value', number);
  return float;
}

/**
 * Puts the `PythonNumber`s of `source` into the values that the Jinja package made of it. Looks at both side by side; texts
 * are not copied.
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

/** Writes a prompt's text, the beginning of the answer included. Throws whatever the template throws. */
export type ChatTemplate = (prompt: Prompt) => string;

const longestRange = 1_000_000;

function range(...args: readonly number[]): readonly number[] {
  const [start = 0, stop = 0, step = 1] = args.length === 1 ? [0, ...args] : args;
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!Number.isFinite(length) || length > longestRange) throw new RangeError('range: expected a shorter one');
  return Array.from({ length }, (_, index) => start + index * step);
}

function raise(): never {
  // Its own words may quote the prompt.
  throw new Error('the template refused the messages');
}

/** What transformers gives every template (`_render_with_assistant_indices`, `_compile_jinja_template`). */
function globals(now: () => number): Readonly<Record<string, unknown>> {
  return {
    ...{ true: true, false: false, none: null, True: true, False: false, None: null },
    range,
    raise_exception: raise,
    strftime_now: (format: unknown) => pythonDate(now(), String(format)),
    ...pythonFunctions,
  };
}

export interface TemplateOptions {
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
      messages: writeMessages(prompt.messages),
      tools: writeTools(prompt.tools) ?? null,
      documents: null,
      add_generation_prompt: true,
    };
    for (const [name, value] of Object.entries(values)) placeNumbers(environment.set(name, value), value);
    return String(new Interpreter(environment).run(program).value);
  };
}
