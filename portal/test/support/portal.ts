// The admin API as a table of answers. A request without an answer in the table fails the test.
import { afterEach, vi } from 'vitest';
import { apiRoot } from '../../src/data/api.ts';
import { requestObject } from './objects.ts';

/** A request that a page sent. */
export interface Sent {
  /** `GET /keys/key_1`, without the query. */
  readonly call: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Headers;
  readonly signal: AbortSignal | null;
}

export type Answer = (sent: Sent) => Response | Promise<Response>;

export const json =
  (data: unknown): Answer =>
  () =>
    Response.json(data);

/** A list whose next page is asked for with the cursor. */
export const list = (data: readonly unknown[], next: string | null = null): Answer => json({ data, next_cursor: next });

/** An error in the form of the portal. */
export const refusal =
  (status: number, message: string, field?: string): Answer =>
  () =>
    Response.json({ error: { message, type: 'invalid_request_error', field } }, { status });

/** What `GET /requests/{id}` answers for a settled request. */
export const settled = (given: Parameters<typeof requestObject>[0] = {}): Answer =>
  json({ request: requestObject(given), story: null, matches: [] });

/** The id under which each request of the playground is sent from now on, in place of a random one. */
export function fixedRequestId(): string {
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array);
  return '0'.repeat(32);
}

/** The portal does not answer. */
export const silence: Answer = () => Promise.withResolvers<Response>().promise;

/** Requests that had no answer. */
const unknown: string[] = [];

/** Answers the requests of the page from the table. Returns the requests in their order, which grow. */
export function answerWith(answers: Readonly<Record<string, Answer>>): readonly Sent[] {
  const all: Sent[] = [];
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    const url = new URL(address, location.origin);
    const sent: Sent = {
      call: `${init.method ?? 'GET'} ${url.pathname.replace(apiRoot, '')}`,
      query: Object.fromEntries(url.searchParams),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
      headers: new Headers(init.headers),
      signal: init.signal ?? null,
    };
    all.push(sent);
    const answer = answers[sent.call];
    if (answer === undefined) unknown.push(sent.call);
    return answer === undefined ? refusal(404, `${sent.call} has no answer in this test`)(sent) : answer(sent);
  });
  return all;
}

/** The requests that change something. */
export const changesIn = (all: readonly Sent[]): readonly Pick<Sent, 'call' | 'body'>[] =>
  all.filter(({ call }) => !call.startsWith('GET')).map(({ call, body }) => ({ call, body }));

afterEach(() => {
  vi.restoreAllMocks();
  const found = unknown.splice(0);
  if (found.length > 0) throw new Error(`no answer in the table of this test: ${found.join(', ')}`);
});
