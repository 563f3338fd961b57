import type { RequestTarget } from '../../core/capability.ts';
import type { Surface } from '../../core/dialect.ts';
import type { FailureCode } from '../../core/failure.ts';
import type { BlockKey, PromptBlocks } from '../../core/pool-prompt.ts';
import type { PromptCount, PromptCountAsk, PromptShape } from '../../core/prompt.ts';
import type { Request } from '../../core/request.ts';

/** Questions to the thread that reads large bodies. `handle` names a request, which the thread holds until its release. */
export type PrepareAsk =
  | { readonly kind: 'read'; readonly handle: number; readonly bytes: Uint8Array; readonly surface: Surface }
  | { readonly kind: 'write'; readonly handle: number; readonly target: RequestTarget }
  | { readonly kind: 'count'; readonly handle: number; readonly ask: PromptCountAsk }
  | { readonly kind: 'divide'; readonly handle: number; readonly key: BlockKey }
  /** Has no reply. */
  | { readonly kind: 'release'; readonly handle: number };

export type PrepareReply =
  | { readonly kind: 'read'; readonly request: Omit<Request, 'messages'>; readonly shape: PromptShape }
  | { readonly kind: 'written'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'counted'; readonly count: PromptCount }
  | { readonly kind: 'divided'; readonly blocks: PromptBlocks }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string };
