import type { RequestTarget } from './capability.ts';
import type { Surface } from './dialect.ts';
import type { FailureCode } from './failure.ts';
import type { PromptCount, PromptCountAsk, PromptShape } from './prompt.ts';
import type { Request } from './request.ts';

/** What the main thread asks of the worker that reads large bodies. */
export type PrepareAsk =
  | { readonly kind: 'read'; readonly bytes: Uint8Array; readonly surface: Surface }
  | { readonly kind: 'write'; readonly target: RequestTarget }
  | { readonly kind: 'count'; readonly ask: PromptCountAsk };

/** An ask with what tells it from others. `handle` names a request that the worker holds. */
export type PrepareTask = PrepareAsk & { readonly id: number; readonly handle: number };

export type PrepareReply =
  | { readonly kind: 'read'; readonly request: Omit<Request, 'messages'>; readonly shape: PromptShape }
  | { readonly kind: 'written'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'counted'; readonly count: PromptCount }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string };
