import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import type { Prompt } from '../core/tokenizer.ts';
import { placeNumbers } from './place-numbers.ts';
import { pythonDate } from './python-date.ts';
import { applyPythonRules, pythonFunctions } from './python-rules.ts';
import { writeMessages, writeTools } from './template-messages.ts';

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
