import type { MessageForm, RequestTarget, SystemMessages } from './capability.ts';
import type { BlockKey, PromptBlocks } from './pool-prompt.ts';
import type { Message, Request, Tool } from './request.ts';
import type { Model } from './catalog.ts';

/** The parts of a request that become its prompt. */
export interface Prompt {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** Further values for the engine's chat template, such as `{ enable_thinking: false }`. */
  readonly templateArguments?: Readonly<Record<string, unknown>>;
  /**
   * The messages are no conversation: no template joins them. `each`: every one is a prompt of its own. `pairs`: so is the first one
   * together with each other one. Limits are those of one such prompt, and a count is that of all of them.
   */
  readonly separate?: 'each' | 'pairs' | undefined;
  /** Most tokens of each second text of `pairs`: longer ones are cut. */
  readonly maxEach?: number | undefined;
}

export interface PromptCountOptions {
  /**
   * `fit` stops as soon as it is certain whether the prompt is within `limit`; `count` counts to the end unless it is
   * over the limit.
   */
  readonly want: 'fit' | 'count';
  /** Most tokens that would still be accepted. */
  readonly limit: number;
  /** Tokens that an image adds to the text that the template writes for it. */
  readonly tokensPerImage?: number | undefined;
  /**
   * Prompts of the same scope share the counts of their texts, which are then quicker: those of a workspace. Absent: nothing is
   * remembered.
   */
  readonly scope?: string | undefined;
}

interface CutTexts {
  /** Lengths of the texts that `maxEach` cuts, UTF-16 units, all but the first text. Absent: none is to be cut. */
  readonly lengths?: readonly number[];
}

/** The number of tokens of a prompt, as far as it had to be counted. */
export type PromptCount =
  | ({ readonly kind: 'counted'; readonly tokens: number } & CutTexts)
  /** The prompt has at most `limit` tokens, and was not counted exactly. Only for callers that ask for `fit`. */
  | ({ readonly kind: 'within'; readonly atMost: number } & CutTexts)
  /** The prompt is over the limit. */
  | {
      readonly kind: 'over';
      readonly atLeast: number;
      /** Number of the message, if messages are separate prompts. */ readonly at?: number;
    }
  /**
   * The prompt cannot be counted here, so the engine decides: the model's tokenizer is broken, its template refuses
   * these messages, or counting took longer than is allowed.
   */
  | { readonly kind: 'unknown'; readonly reason: 'tokenizer' | 'template' | 'time' };

/** A defect of a tokenizer folder, for the operator. Never contains any part of a prompt. */
export interface TokenizerProblem {
  /** Relative to the tokenizer root: `qwen3-8b/tokenizer.json`. */
  readonly file: string;
  /** Path of the field at fault: `model.type`; empty when it is the whole file. */
  readonly field: string;
  readonly message: string;
}

/** The facts about a tokenizer and its template that decide without counting whether a prompt fits. */
export interface TokenizerBounds {
  /** Most tokens a byte of text can become; undefined when there is no such bound. */
  readonly tokensPerByte: number | undefined;
  /** Like `tokensPerByte`, for a body without any byte above 127, whose other characters are escaped; often less. */
  readonly tokensPerAsciiByte: number | undefined;
  /** Maximum bytes of text that one token stands for; infinite when there is no such bound. */
  readonly maxTokenBytes: number;
  /** Most tokens that the template itself adds; absent when that is unknown. */
  readonly template?: {
    readonly base: number;
    readonly perMessage: number;
    /** Most tokens that the template adds if there are tools or calls; absent when that is unknown. */
    readonly tools?: { readonly base: number; readonly perTool: number; readonly perCall: number };
  };
  /** Tokens that are added around a text that is a prompt of its own. */
  readonly around?: number;
  readonly systemMessages?: SystemMessages;
}

export type TokenizerLoad =
  | { readonly kind: 'loaded'; readonly bounds: TokenizerBounds }
  | { readonly kind: 'broken'; readonly problem: TokenizerProblem };

/** The tokenizers of the catalog's models. A path is a folder under the tokenizer root. */
export interface Tokenizers {
  /**
   * Loads a tokenizer unless it is loaded. Resolves to `broken` for a missing or broken folder, and never rejects. Without a chat
   * template it is broken for chats; `texts` need none.
   */
  readonly load: (path: string, use?: 'chats' | 'texts') => Promise<TokenizerLoad>;
  /** The facts that are known without waiting. Undefined until `load` has succeeded. */
  readonly boundsOf: (path: string) => TokenizerBounds | undefined;
  /**
   * Never rejects: the result is `unknown` if the prompt cannot be counted. Only for prompts up to about a megabyte,
   * because they are copied to a thread. A larger prompt is counted in the thread that already holds it.
   */
  readonly countPrompt: (path: string, prompt: Prompt, options: PromptCountOptions) => Promise<PromptCount>;
  /** Tokens of an answer's text; undefined when it cannot be counted. Never rejects. */
  readonly countText: (path: string, text: string) => Promise<number | undefined>;
  readonly close: () => Promise<void>;
}

/** The facts about a prompt that are known without reading it again. */
export interface PromptShape {
  /** Size of the JSON body as the caller sent it. */
  readonly bodyBytes: number;
  /** Whether none of these bytes is above 127. False is always a safe value. */
  readonly isAscii: boolean;
  /** Tokens of the text that becomes its prompt, an estimate that errs low (`estimatePromptText`). */
  readonly textTokens: number;
  /** The part of `textTokens` that comes from messages. A template may leave out tools. */
  readonly messageTokens: number;
  readonly messages: number;
  readonly tools: number;
  readonly toolCalls: number;
  readonly images: number;
  /** Whether a system message comes after another message: not every engine accepts that. */
  readonly hasLaterSystem: boolean;
  /** Images that the caller sent, without images from tools. */
  readonly callerImages: number;
  /** Characters of the addresses of all images: those of images that are sent as data contain the image. */
  readonly imageBytes: number;
  /**
   * Digest that all turns of its conversation share (`conversationDigest`): the same endpoint serves them faster.
   * Undefined if the beginning is too short to matter.
   */
  readonly conversation: number | undefined;
  /** Digest of the whole prompt. See `promptDigest`. */
  readonly digest: number;
}

/**
 * The maximum number of tokens that a prompt can have, by its size alone; undefined when there is no bound.
 *
 * The proof: a text is no longer in UTF-8 than as a JSON string. So the texts of the body together have at most
 * `bodyBytes` bytes and become at most `tokensPerByte` times as many tokens. The template adds its own words, whose
 * tokens were measured when it was loaded. The proof has two assumptions: the template writes each text at most once,
 * and its own words do not grow with the texts. Tools are written as JSON again, with a blank after each comma and
 * colon, which at most doubles them; a template that indents them gets no bound.
 */
export function maxTokensOf(
  shape: PromptShape,
  bounds: TokenizerBounds,
  tokensPerImage: number | undefined,
): number | undefined {
  const { template } = bounds;
  const tokensPerByte = shape.isAscii ? bounds.tokensPerAsciiByte : bounds.tokensPerByte;
  if (tokensPerByte === undefined || template === undefined) return undefined;
  if (shape.images > 0 && tokensPerImage === undefined) return undefined;
  const images = shape.images * (tokensPerImage ?? 0);
  const plain = template.base + template.perMessage * shape.messages + images;
  if (shape.tools === 0 && shape.toolCalls === 0) return shape.bodyBytes * tokensPerByte + plain;
  if (template.tools === undefined) return undefined;
  const { base, perTool, perCall } = template.tools;
  return shape.bodyBytes * tokensPerByte * 2 + plain + base + perTool * shape.tools + perCall * shape.toolCalls;
}

/**
 * The minimum number of tokens that `textBytes` bytes of text, all of which reach the prompt, can become: no token stands for more than
 * `maxTokenBytes` of them.
 */
export function minTokensOf(textBytes: number, maxTokenBytes: number): number {
  return Math.ceil(textBytes / maxTokenBytes);
}

/** The means to count a prompt: a model's tokenizer, and the values for its template. */
export interface PromptCounting extends Pick<PromptCountOptions, 'tokensPerImage' | 'scope'> {
  /** Folder under the tokenizer root. */
  readonly tokenizerPath: string;
  readonly templateArguments: Readonly<Record<string, unknown>>;
  /** How the conversation is written; absent: in its original form. */
  readonly form: MessageForm | undefined;
}

/** How a prompt is to be counted, and how far. */
export interface PromptCountAsk extends PromptCounting, PromptCountOptions {}

/** The means to count a model's prompts; undefined when the model has no tokenizer. */
export function promptCounting(
  { tokenizer }: Pick<Model, 'tokenizer'>,
  how: Pick<PromptCounting, 'templateArguments' | 'form' | 'scope'>,
): PromptCounting | undefined {
  if (tokenizer === undefined) return undefined;
  const { path: tokenizerPath, tokensPerImage } = tokenizer;
  return { ...how, tokenizerPath, tokensPerImage };
}

/** A request that has been read and checked. Large messages may be held in a worker. */
export interface PreparedRequest {
  readonly request: Omit<Request, 'messages'>;
  readonly shape: PromptShape;
  readonly bodyFor: (target: RequestTarget) => string | Promise<Uint8Array>;
  /** Counts the prompt in the thread that holds its messages. The result is `unknown` if it cannot be counted. */
  readonly countPrompt: (ask: PromptCountAsk) => Promise<PromptCount>;
  /** The blocks of the prompt's text. */
  readonly blocksFor: (key: BlockKey) => PromptBlocks;
  /** Releases what is held. Call once, when no further body is needed. */
  readonly release: () => void;
}
