import type { TokenizerBounds } from '../core/prompt.ts';
import { BrokenTokenizer, FieldFault } from './broken-tokenizer.ts';
import { type ChatTemplate, compileChatTemplate } from './chat-template.ts';
import { measureTemplate, placeSystemMessages } from './measure-template.ts';
import { readTokenizerFolder, type TokenizerFolder } from './read-folder.ts';
import { compileTextCounter, type TextCounter } from './text-counter.ts';

/** A tokenizer that is ready to count. */
export interface LoadedTokenizer {
  readonly bounds: TokenizerBounds;
  readonly render: ChatTemplate;
  readonly counter: TextCounter;
}

const specialNames = [
  ...(['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const),
];

function compileTemplates(folder: TokenizerFolder, now: () => number): ChatTemplate {
  const specialTokens = Object.fromEntries(
    specialNames.flatMap((name) => {
      const token = folder.config[name];
      return typeof token === 'string' ? [[name, token]] : [];
    }),
  );
  const compile = ({ source, file, field }: TokenizerFolder['template']): ChatTemplate => {
    try {
      return compileChatTemplate(source, { specialTokens, now });
    } catch (cause) {
      throw new BrokenTokenizer({ file, field, message: 'expected a Jinja template that can be parsed' }, { cause });
    }
  };
  const plain = compile(folder.template);
  const withTools = folder.toolTemplate === undefined ? plain : compile(folder.toolTemplate);
  return (prompt) => (prompt.tools.length > 0 ? withTools : plain)(prompt);
}

function compileCounter(folder: TokenizerFolder, file: string): TextCounter {
  try {
    return compileTextCounter(folder.tokenizer, Object.values(folder.config.added_tokens_decoder));
  } catch (cause) {
    if (!(cause instanceof FieldFault)) throw cause;
    throw new BrokenTokenizer({ file, field: cause.field, message: cause.message }, { cause });
  }
}

/**
 * Reads and compiles a folder under the tokenizer root. Rejects with a `BrokenTokenizer` when it is missing or broken, or
 * when its tokens could not be counted exactly.
 */
export async function loadTokenizer(root: string, path: string, now: () => number): Promise<LoadedTokenizer> {
  const folder = await readTokenizerFolder(root, path);
  const counter = compileCounter(folder, `${path}/tokenizer.json`);
  const render = compileTemplates(folder, now);
  const { longestTextBytes, tokensPerByte, tokensPerAsciiByte } = counter.sizes;
  // Indenting writes more the deeper the tools are nested, so their size promises nothing.
  const indents = [folder.template, folder.toolTemplate].some((template) => template?.source.includes('indent'));
  const measured = measureTemplate(render, counter);
  if (measured === undefined) {
    const { file, field } = folder.template;
    throw new BrokenTokenizer({ file, field, message: 'expected a template that renders one message of a user' });
  }
  return {
    render,
    counter,
    bounds: {
      longestTokenBytes: longestTextBytes,
      ...(tokensPerByte !== undefined && { tokensPerByte }),
      ...(tokensPerAsciiByte !== undefined && { tokensPerAsciiByte }),
      systemMessages: placeSystemMessages(render),
      template: indents ? { base: measured.base, perMessage: measured.perMessage } : measured,
    },
  };
}
