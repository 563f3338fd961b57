import type { ResponseReader } from '../core/event.ts';
import type { UpstreamCall } from '../core/upstream.ts';
import type { Join } from './join.ts';

/** An attempt on one route, ready to be made. */
export interface PreparedAttempt {
  /** Writes it; a promise where that takes a worker. */
  readonly call: () => UpstreamCall | Promise<UpstreamCall>;
  readonly readerFor: (contentType: string) => ResponseReader | undefined;
  readonly join?: Join;
}
