import type { UpstreamCall } from '../../src/gateway/core/upstream.ts';
import type { Connection } from './connection.ts';
import type { SearchOutcome, SearchTrouble } from './events.ts';
import type { Scheduler } from './scheduler.ts';
import { outcomeIn, pagesOf } from './searches.ts';

/** The provider of web search, as its API answers: a SearXNG instance in virtual time. */
export interface SearchProviderModel {
  readonly answer: (call: UpstreamCall, connection: Connection) => void;
  readonly set: (trouble: SearchTrouble) => void;
  /** How many good answers to a query have begun to leave. */
  readonly found: (query: string) => number;
  readonly open: () => number;
}

/** Time to an answer. A call of the service ends after 8 s. */
export const searchMs = { usual: 40, slow: 3_000 } as const;

/** What the provider does with one call. */
type Reply =
  | { readonly kind: 'silent' | 'refused' | 'cut' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'body'; readonly body: string };

export const foundBody = (query: string): string =>
  JSON.stringify({ results: outcomeIn(query) === 'nothing' ? [] : pagesOf(query) });

export function replyTo(
  query: string,
  { calls, trouble }: { readonly calls: number; readonly trouble: SearchTrouble },
): Reply {
  if (trouble === 'silent') return { kind: 'silent' };
  if (trouble === 'refuses') return { kind: 'refused' };
  if (trouble === 'fails') return { kind: 'status', status: 503 };
  const found: Reply = { kind: 'body', body: foundBody(query) };
  const replies: Readonly<Record<SearchOutcome, Reply>> = {
    ...{ found, nothing: found, slow: found },
    fails: { kind: 'status', status: 500 },
    'fails-once': calls === 1 ? { kind: 'cut' } : found,
    busy: { kind: 'status', status: 429 },
    silent: { kind: 'silent' },
    garbled: { kind: 'body', body: '<html>' },
  };
  return replies[outcomeIn(query)];
}

/** `trouble`: of the whole world, until it is set. */
export function createSearchProvider(scheduler: Scheduler, usual: SearchTrouble): SearchProviderModel {
  const calls = new Map<string, number>();
  const found = new Map<string, number>();
  const open = new Set<Connection>();
  let trouble = usual;

  function send(reply: Reply, query: string, { deliver, end, listener }: Connection): void {
    const body = (text: string): void => deliver(() => listener.data(new TextEncoder().encode(text)));
    switch (reply.kind) {
      case 'silent':
        return;
      case 'refused':
        deliver(() => listener.failed('UPSTREAM_CONNECT'));
        break;
      case 'cut':
        deliver(() => listener.head(200, () => 'application/json'));
        body(foundBody(query).slice(0, 40));
        deliver(() => listener.failed('UND_ERR_SOCKET'));
        break;
      case 'status':
        deliver(() => listener.head(reply.status, () => 'text/plain'));
        deliver(listener.ended);
        break;
      case 'body':
        if (reply.body !== '<html>') found.set(query, (found.get(query) ?? 0) + 1);
        deliver(() => listener.head(200, () => 'application/json'));
        body(reply.body);
        deliver(listener.ended);
    }
    deliver(end);
  }

  return {
    found: (query) => found.get(query) ?? 0,
    open: () => open.size,
    set: (now) => {
      trouble = now === 'none' ? usual : now;
    },
    answer: (call, connection) => {
      const query = new URLSearchParams(String(call.body)).get('q') ?? '';
      const count = (calls.get(query) ?? 0) + 1;
      calls.set(query, count);
      open.add(connection);
      const reply = replyTo(query, { calls: count, trouble });
      const isSlow = trouble === 'slow' || outcomeIn(query) === 'slow';
      const cancel = scheduler.after(isSlow ? searchMs.slow : searchMs.usual, () => send(reply, query, connection));
      connection.onClose(() => {
        open.delete(connection);
        cancel();
      });
    },
  };
}
