import type { MessageForm, RequestTarget } from './capability.ts';
import type { Model } from './catalog.ts';
import type { Request } from './request.ts';
import type { PromptCount, PromptCountOptions, PromptShape } from './tokenizer.ts';

/** What a prompt is counted with: a model's tokenizer, and what its template is told. */
export interface PromptCounting extends Pick<PromptCountOptions, 'tokensPerImage'> {
  /** Folder under the tokenizer root. */
  readonly tokenizerPath: string;
  readonly templateArguments: Readonly<Record<string, unknown>>;
  /** How the conversation is put; absent: as it was sent. */
  readonly form: MessageForm | undefined;
}

/** How a prompt is to be counted, and how far. */
export interface PromptCountAsk extends PromptCounting, PromptCountOptions {}

/** What a model's prompts are counted with; undefined when it has no tokenizer. */
export function promptCounting(
  { tokenizer }: Pick<Model, 'tokenizer'>,
  { templateArguments, form }: Pick<PromptCounting, 'templateArguments' | 'form'>,
): PromptCounting | undefined {
  if (tokenizer === undefined) return undefined;
  const { path: tokenizerPath, tokensPerImage } = tokenizer;
  return { tokenizerPath, templateArguments, form, ...(tokensPerImage === undefined ? {} : { tokensPerImage }) };
}

/** A request that has been read and checked. Its messages may be held elsewhere, in a worker, when they are large. */
export interface PreparedRequest {
  /** All but the messages. */
  readonly request: Omit<Request, 'messages'>;
  readonly shape: PromptShape;
  /** The body as an engine wants it. */
  readonly bodyFor: (target: RequestTarget) => string | Promise<Uint8Array>;
  /** Counts the prompt, where its messages are. What cannot be counted is `unknown`. */
  readonly countPrompt: (ask: PromptCountAsk) => Promise<PromptCount>;
  /** Lets go of what is held. Call once, when no further body will be asked for. */
  readonly release: () => void;
}
