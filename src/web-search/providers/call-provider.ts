import type { Clock } from '../../core/clock.ts';
import type { Upstream, UpstreamCall } from '../../core/upstream.ts';

/** How one call to a provider ended. */
export type ProviderAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** `reason` is safe to log. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Most of an answer that is read, bytes: twenty results with their snippets are a tenth of it. */
const maxBytes = 2 * 1024 * 1024;

/** Calls a provider. Never rejects. Gives up when the time is over, the answer too large, or the signal aborts. */
export function callProvider(
  call: UpstreamCall,
  options: {
    readonly upstream: Upstream;
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
  },
): Promise<ProviderAnswer> {
  const { upstream, clock, timeoutMs, signal } = options;
  const { promise, resolve } = Promise.withResolvers<ProviderAnswer>();
  const pieces: Uint8Array[] = [];
  let status = 0;
  let bytes = 0;
  let abort = (): void => undefined;

  function finish(answer: ProviderAnswer): void {
    disarm();
    signal.removeEventListener('abort', leave);
    abort();
    resolve(answer);
  }

  const leave = (): void => finish({ kind: 'failed', reason: 'aborted' });
  const disarm = clock.after(timeoutMs, () => finish({ kind: 'failed', reason: `no answer within ${timeoutMs} ms` }));
  if (signal.aborted) {
    leave();
    return promise;
  }
  signal.addEventListener('abort', leave, { once: true });
  const stream = upstream.call(call, {
    head: (code) => {
      status = code;
    },
    data: (piece) => {
      bytes += piece.length;
      if (bytes > maxBytes) finish({ kind: 'failed', reason: `more than ${maxBytes} bytes` });
      else pieces.push(piece);
    },
    ended: () => finish({ kind: 'answered', status, body: Buffer.concat(pieces).toString('utf8') }),
    failed: (reason) => finish({ kind: 'failed', reason }),
  });
  abort = stream.abort;
  return promise;
}
