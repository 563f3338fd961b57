import type { Clock } from '../../../core/clock.ts';
import {
  causeOfStatus,
  type DependencyCause,
  type DependencyReport,
  isDependencyCause,
} from '../../../core/dependency-cause.ts';
import { causeOf } from '../../../core/fault-cause.ts';
import { parseJson } from '../../../core/json.ts';
import type { Upstream, UpstreamCall } from '../../core/upstream.ts';
import { pageFilter, type SearchFinding, type SearchProvider, type SearchQuery } from '../../../core/web-search.ts';
import type { SearchApi } from './search-api.ts';

/** Longest time of one try, milliseconds. A caller waits for two tries at most. */
const timeoutMs = 8_000;

/** Longest URL of a hit, characters. Hits with a longer one are dropped. */
const maxUrl = 2048;

/** Largest answer, bytes: twenty results with their snippets take a tenth of it. */
const maxBytes = 2 * 1024 * 1024;

/** The result of one try. `retry`: how another try may succeed. */
interface Try {
  readonly finding: SearchFinding;
  readonly retry?: 'unchanged' | 'without-location' | undefined;
}

interface Failing extends Pick<Try, 'retry'> {
  readonly cause?: DependencyCause | undefined;
}

const unavailable = (detail: string, retry?: Try['retry']): Try => ({
  finding: { kind: 'error', code: 'unavailable', detail },
  retry,
});

/**
 * Searches through a provider's API. A temporary error is retried once, hits are filtered by site even if the provider has filtered
 * them, and every failure is returned as a finding. An error of the operator's key or plan is not retried.
 */
export function createProvider(
  api: SearchApi,
  options: {
    readonly upstream: Upstream;
    readonly cluster: string;
    readonly clock: Clock;
    /** Reads the key of the API. Rejects when there is none. */
    readonly readKey: () => Promise<string>;
    readonly report?: DependencyReport | undefined;
  },
): SearchProvider {
  const { cluster, readKey, report } = options;

  /** An error that is not due to the search: the provider, its address or its key. */
  function fails(detail: string, { cause = 'unreadable', retry }: Failing): Try {
    report?.failed({ cause, reason: detail });
    return unavailable(detail, retry);
  }

  async function tryOnce(query: SearchQuery, signal: AbortSignal): Promise<Try> {
    const key = await readKey().catch(() => undefined);
    if (key === undefined) return fails('its key file cannot be read', { cause: 'credential-missing' });
    const { traceparent } = query;
    const at = { cluster, authority: api.url.host, accept: 'application/json' as const, traceparent };
    const call = { ...api.write(query, key), ...at };
    const answer = await callProvider(call, { ...options, signal });
    return readAnswer(answer, query);
  }

  function readAnswer(answer: ProviderAnswer, query: SearchQuery): Try {
    if (answer.kind === 'aborted') return unavailable('aborted', 'unchanged');
    if (answer.kind === 'failed') return fails(answer.reason, { cause: answer.cause, retry: 'unchanged' });
    const { status, body } = answer;
    const detail = `status ${status}`;
    // The provider refuses a parameter. The only one that a caller controls is the location.
    if (status === 400 || status === 422) return unavailable(detail, 'without-location');
    const cause = causeOfStatus(status);
    if (status === 429) {
      report?.failed({ cause: 'rate-limited', reason: detail });
      return { finding: { kind: 'error', code: 'too_many_requests', detail } };
    }
    if (status !== 200) return fails(detail, { cause, retry: status >= 500 ? 'unchanged' : undefined });
    const hits = api.read(parseJson(body));
    if (hits === undefined) {
      const isPage = /^\s*<(?:!doctype|html)/i.test(body);
      return fails('an answer that cannot be read', {
        cause: isPage ? 'not-an-api' : 'unreadable',
        retry: 'unchanged',
      });
    }
    report?.succeeded();
    const allows = pageFilter(query.domains);
    return { finding: { kind: 'found', hits: hits.filter(({ url }) => url.length <= maxUrl && allows(url)) } };
  }

  async function search(query: SearchQuery, signal: AbortSignal): Promise<SearchFinding> {
    const { finding, retry } = await tryOnce(query, signal);
    if (retry === undefined || signal.aborted) return finding;
    if (retry === 'unchanged') return (await tryOnce(query, signal)).finding;
    return query.location === undefined ? finding : (await tryOnce({ ...query, location: undefined }, signal)).finding;
  }

  return { name: api.name, search };
}

/** How one call of a provider ended. */
type ProviderAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** `reason` is safe to log. */
  | { readonly kind: 'failed'; readonly reason: string; readonly cause?: DependencyCause | undefined }
  /** The caller has left. */
  | { readonly kind: 'aborted' };

/** Calls a provider. Never rejects. Gives up after `timeoutMs`, on an answer that is too large, and when the signal aborts. */
function callProvider(
  call: UpstreamCall,
  { upstream, clock, signal }: { readonly upstream: Upstream; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ProviderAnswer> {
  const { promise, resolve } = Promise.withResolvers<ProviderAnswer>();
  const pieces: Uint8Array[] = [];
  let status = 0;
  let bytes = 0;
  let abort = (): void => undefined;

  function finish(answer: ProviderAnswer): void {
    cancelTimeout();
    signal.removeEventListener('abort', onAbort);
    abort();
    resolve(answer);
  }

  const onAbort = (): void => finish({ kind: 'aborted' });
  const cancelTimeout = clock.after(timeoutMs, () =>
    finish({ kind: 'failed', reason: `no answer within ${timeoutMs} ms`, cause: 'silent' }),
  );
  if (signal.aborted) {
    onAbort();
    return promise;
  }
  signal.addEventListener('abort', onAbort, { once: true });
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
    failed: (reason, found) => {
      // Envoy names the cause of a connection that it could not make, or writes its flags.
      const cause = found ?? causeOf({ kind: 'connect', detail: reason });
      finish({ kind: 'failed', reason, cause: isDependencyCause(cause) ? cause : 'connect-failed' });
    },
  });
  abort = stream.abort;
  return promise;
}
