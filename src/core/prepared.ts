import type { RequestTarget } from './capability.ts';
import type { Request } from './request.ts';
import type { PromptCount, PromptCountOptions, PromptShape } from './tokenizer.ts';

/** How a prompt is to be counted: with which model's tokenizer, and what its template is told. */
export interface PromptCountAsk extends PromptCountOptions {
  /** Folder under the tokenizer root. */
  readonly tokenizerPath: string;
  readonly templateArguments: Readonly<Record<string, unknown>>;
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
