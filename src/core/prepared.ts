import type { RequestTarget } from './capability.ts';
import type { Request } from './request.ts';

/** A request that has been read and checked. Its messages may be held elsewhere, in a worker, when they are large. */
export interface PreparedRequest {
  /** All but the messages. */
  readonly request: Omit<Request, 'messages'>;
  readonly hasImages: boolean;
  /** Size of the body as it came. */
  readonly bodyBytes: number;
  /** The body as an engine wants it. */
  readonly bodyFor: (target: RequestTarget) => string | Promise<Uint8Array>;
  /** Lets go of what is held. Call once, when no further body will be asked for. */
  readonly release: () => void;
}
