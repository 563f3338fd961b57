import type { RequestTarget } from './capability.ts';
import type { FailureCode } from './failure.ts';
import type { Request } from './request.ts';

/** What the main thread asks of the worker that reads large bodies. `handle` names a request it holds. */
export type PrepareTask = { readonly id: number; readonly handle: number } & (
  | { readonly kind: 'read'; readonly bytes: Uint8Array }
  | { readonly kind: 'write'; readonly target: RequestTarget }
);

export type PrepareReply =
  | { readonly kind: 'read'; readonly request: Omit<Request, 'messages'>; readonly hasImages: boolean }
  | { readonly kind: 'written'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string };
