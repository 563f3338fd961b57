import type { Clock } from '../../core/clock.ts';
import { pageFilter, type SearchFinding, type SearchProvider, type SearchQuery } from '../../core/web-search.ts';
import type { Upstream, UpstreamCall } from '../../core/upstream.ts';
import type { SearchApi } from './search-api.ts';

/** How one call to a provider ended. */
export type ProviderAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** `reason` is safe to log. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Most of an answer that is read, bytes: twenty results with their snippets are a tenth of it. */
const maxBytes = 2 * 1024 * 1024;

/** Calls a provider. Never rejects. Gives up when the time is over, the answer too large, or the signal aborts. */
function callProvider(
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

/** Longest that one try may take, milliseconds. A caller waits for it, twice at most. */
const timeoutMs = 8_000;

/** Longest address that is handed on. */
const maxUrl = 2048;

/** What came of one try, and whether another one may do better. */
interface Tried {
  readonly finding: SearchFinding;
  readonly again?: 'as-it-was' | 'without-location';
}

const unavailable = (detail: string, again?: Tried['again']): Tried => ({
  finding: { kind: 'error', code: 'unavailable', detail },
  ...(again === undefined ? {} : { again }),
});

/**
 * A provider behind its API: one retry of what may pass, sites filtered whatever the provider made of them, and every
 * failure an answer. What is wrong with the operator's key or plan is not tried again.
 */
export function createProvider(
  api: SearchApi,
  options: {
    readonly upstream: Upstream;
    readonly cluster: string;
    readonly clock: Clock;
    /** The key of its API; rejects where it cannot be had. */
    readonly readKey: () => Promise<string>;
  },
): SearchProvider {
  const { upstream, cluster, clock, readKey } = options;

  async function tryOnce(query: SearchQuery, signal: AbortSignal): Promise<Tried> {
    const key = await readKey().catch(() => undefined);
    if (key === undefined) return unavailable('its key file cannot be read');
    const call = api.write(query, key);
    const { method, path, body } = call;
    const answer = await callProvider(
      {
        ...{ cluster, authority: api.url.host, path, body, accept: 'application/json' },
        ...(method === 'GET' ? { method } : {}),
        ...(call.contentType === undefined ? {} : { contentType: call.contentType }),
        ...(call.headers === undefined ? {} : { headers: call.headers }),
        ...(call.authorization === undefined ? {} : { authorization: call.authorization }),
      },
      { upstream, clock, timeoutMs, signal },
    );
    return judge(answer, query);
  }

  function judge(answer: ProviderAnswer, query: SearchQuery): Tried {
    if (answer.kind === 'failed') return unavailable(answer.reason, 'as-it-was');
    const { status, body } = answer;
    const detail = `status ${status}`;
    if (status === 429) return { finding: { kind: 'error', code: 'too_many_requests', detail } };
    // It does not take a parameter: a place it does not know is the only one of ours that comes from a caller.
    if (status === 400 || status === 422) return unavailable(detail, 'without-location');
    if (status >= 500) return unavailable(detail, 'as-it-was');
    if (status !== 200) return unavailable(detail);
    const hits = api.read(parse(body));
    if (hits === undefined) return unavailable('an answer that cannot be read', 'as-it-was');
    const allows = pageFilter(query.domains);
    return { finding: { kind: 'found', hits: hits.filter(({ url }) => url.length <= maxUrl && allows(url)) } };
  }

  async function search(query: SearchQuery, signal: AbortSignal): Promise<SearchFinding> {
    const { finding, again } = await tryOnce(query, signal);
    const { location, ...without } = query;
    const next = again === 'as-it-was' ? query : again === undefined || location === undefined ? undefined : without;
    return next === undefined || signal.aborted ? finding : (await tryOnce(next, signal)).finding;
  }

  return { name: api.name, search };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
