import type { SystemMessages } from '../../core/capability.ts';
import type { Message, Tool, ToolCall } from '../../core/request.ts';
import type { Prompt, TokenizerBounds, TokenizerProblem } from '../../core/prompt.ts';
import { type ChatTemplate, compileChatTemplate } from './chat-template.ts';
import { type SpecialTokens, specialTokensOf } from './special-tokens.ts';
import { compileTextCounter, countUntil, type TextCounter } from './text-counter.ts';
import {
  BrokenTokenizer,
  type ChatTemplateFile,
  FieldFault,
  readTokenizerFolder,
  type TokenizerFolder,
} from './tokenizer-folder.ts';

export interface LoadedTokenizer {
  readonly bounds: TokenizerBounds;
  /** Without a chat template, it says what is missing. */
  readonly render: ChatTemplate | { readonly problem: TokenizerProblem };
  readonly special: SpecialTokens;
  readonly counter: TextCounter;
}

/** Tokenizers by folder. Each is loaded once; a broken one stays broken until the process ends. */
export function createTokenizerCache(options: { readonly root: string; readonly now: () => number }) {
  const loaded = new Map<string, Promise<LoadedTokenizer>>();
  return {
    /** Rejects with a `BrokenTokenizer`. */
    get: (path: string): Promise<LoadedTokenizer> => {
      return loaded.getOrInsertComputed(path, () => loadTokenizer(options.root, path, options.now));
    },
  };
}

/**
 * Reads and compiles a folder under the tokenizer root. Rejects with a `BrokenTokenizer` when it is missing or broken, or
 * when its tokens could not be counted exactly.
 */
export async function loadTokenizer(root: string, path: string, now: () => number): Promise<LoadedTokenizer> {
  const folder = await readTokenizerFolder(root, path);
  const counter = compileCounter(folder, `${path}/tokenizer.json`);
  const special = specialTokensOf(folder.tokenizer.post_processor);
  const { maxTextBytes, tokensPerByte, tokensPerAsciiByte } = counter.sizes;
  const sizes = { maxTokenBytes: maxTextBytes, tokensPerByte, tokensPerAsciiByte, around: special.single };
  const { template } = folder;
  if ('problem' in template) return { render: template, special, counter, bounds: sizes };
  const render = compileTemplates({ ...folder, template }, now);
  // A template that indents writes more the deeper tools are nested, so their size sets no bound.
  const indents = [template, folder.toolTemplate].some((one) => one?.source.includes('indent'));
  const measured = measureTemplate(render, counter);
  if (measured === undefined) {
    const { file, field } = template;
    throw new BrokenTokenizer({ file, field, message: 'expected a template that renders one message of a user' });
  }
  return {
    render,
    special,
    counter,
    bounds: {
      ...sizes,
      systemMessages: placeSystemMessages(render),
      template: indents ? { base: measured.base, perMessage: measured.perMessage } : measured,
    },
  };
}

function compileCounter(folder: TokenizerFolder, file: string): TextCounter {
  try {
    return compileTextCounter(folder.tokenizer, Object.values(folder.config.added_tokens_decoder));
  } catch (cause) {
    if (!(cause instanceof FieldFault)) throw cause;
    throw new BrokenTokenizer({ file, field: cause.field, message: cause.message }, { cause });
  }
}

const specialNames = [
  ...(['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const),
];

function compileTemplates(
  folder: TokenizerFolder & { readonly template: ChatTemplateFile },
  now: () => number,
): ChatTemplate {
  const specialTokens = Object.fromEntries(
    specialNames.flatMap((name) => {
      const token = folder.config[name];
      return typeof token === 'string' ? [[name, token]] : [];
    }),
  );
  const compile = ({ source, file, field }: ChatTemplateFile): ChatTemplate => {
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

/**
 * Measures the tokens that a template adds to the texts, by rendering small prompts and taking differences. The measures are
 * doubled, with room for a few words, since templates write some messages a little differently by their place. Undefined when not
 * even the smallest prompt can be rendered. A template that does not support tools is measured without them.
 */
function measureTemplate(
  render: ChatTemplate,
  counter: TextCounter,
): Required<NonNullable<TokenizerBounds['template']>> | undefined {
  const count = (messages: readonly Message[], tools: readonly Tool[] = []): number | undefined => {
    const prompt: Prompt = { messages, tools };
    try {
      const counted = countUntil(counter.count(render(prompt), Number.POSITIVE_INFINITY), () => false);
      return counted?.kind === 'counted' ? counted.tokens : undefined;
    } catch {
      return undefined;
    }
  };
  const difference = (more: number | undefined, less: number | undefined): number =>
    more === undefined || less === undefined ? 0 : Math.max(0, more - less);
  const room = (tokens: number): number => tokens * 2 + 16;

  const least = count([user]);
  if (least === undefined) return undefined;
  const oneTool = count([user], [tool('a')]);
  const oneCall = count(calling(1), [tool('a')]) ?? count(calling(1));
  const twoCalls = count(calling(2), [tool('a')]) ?? count(calling(2));
  return {
    base: room(least),
    perMessage: room(
      Math.max(
        difference(count([user, answer, user]), least),
        difference(count([{ role: 'system', content: 'a' }, user]), least),
        difference(oneCall, oneTool ?? least),
      ),
    ),
    tools: {
      base: room(difference(oneTool, least)),
      perTool: room(difference(count([user], [tool('a'), tool('b')]), oneTool)),
      perCall: room(difference(twoCalls, oneCall)),
    },
  };
}

/**
 * Where a template accepts system messages, found by rendering a system message in the middle of a conversation: a template that
 * refuses it, or leaves its text out, accepts leading ones only.
 */
function placeSystemMessages(render: ChatTemplate): SystemMessages {
  const later = 'system-message-in-the-middle';
  const messages: readonly Message[] = [
    { role: 'system', content: 'a' },
    user,
    { role: 'assistant', content: 'a' },
    user,
    { role: 'system', content: later },
  ];
  try {
    return render({ messages, tools: [] }).includes(later) ? 'Anywhere' : 'Leading';
  } catch {
    return 'Leading';
  }
}

const user: Message = { role: 'user', content: 'a' };
const answer: Message = { role: 'assistant', content: 'a', reasoning: 'a' };
const call = (id: string): ToolCall => ({ id, name: 'a', arguments: '{}' });
const tool = (name: string): Tool => ({ name, description: 'a', parameters: { type: 'object', properties: {} } });
const calling = (count: number): readonly Message[] => [
  user,
  { role: 'assistant', toolCalls: Array.from({ length: count }, (_, index) => call(`abcdefgh${index}`)) },
  ...Array.from({ length: count }, (_, index): Message => ({
    role: 'tool',
    toolCallId: `abcdefgh${index}`,
    content: 'a',
  })),
];
