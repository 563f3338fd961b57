import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasInternalToken } from '../../core/internal-token.ts';
import type { Story, StoryPage } from '../../core/story.ts';

/** What a service tells the portal and `weir explain` of itself. */
export interface Internal {
  /** The secret of the database, as it is now. */
  readonly secret: () => string;
  readonly stories: {
    readonly after: (seq: number, limit: number) => StoryPage;
    readonly find: (id: string) => Story | undefined;
  };
  /** The live catalog as JSON text, in pieces between which requests are served. */
  readonly catalog: () => AsyncIterable<string>;
}

/** Stories of one answer: each takes about 10 µs to tell, and 2 KB. */
const mostStories = 100;

const prefix = '/internal/';
const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** Answers what begins with `/internal/`, for those that have the token alone. False: the path is another. */
export function answerInternal(
  request: IncomingMessage,
  response: ServerResponse,
  { secret, stories, catalog }: Internal,
): boolean {
  const url = URL.parse(request.url ?? '', 'http://ops');
  if (url?.pathname.startsWith(prefix) !== true) return false;
  const fail = (status: number, message: string): void => {
    response.writeHead(status, json).end(JSON.stringify({ error: message }));
  };
  if (!hasInternalToken(request.headers.authorization, secret())) {
    response.setHeader('www-authenticate', 'Bearer');
    fail(401, 'expected the token of this database');
    return true;
  }
  if (request.method !== 'GET') {
    fail(405, 'expected GET');
    return true;
  }
  const [what, id, ...more] = url.pathname.slice(prefix.length).split('/');
  if (what === 'catalog' && id === undefined) {
    response.writeHead(200, json);
    // The reader may leave in the middle, which is nobody's fault.
    pipeline(Readable.from(catalog()), response).catch(() => response.destroy());
  } else if (what === 'requests' && id === undefined) {
    const after = countIn(url, 'after', 0, Number.MAX_SAFE_INTEGER);
    const limit = countIn(url, 'limit', mostStories, mostStories);
    if (after === undefined || limit === undefined || limit === 0) {
      fail(400, `after: expected a whole number; limit: expected one from 1 to ${mostStories}`);
    } else response.writeHead(200, json).end(JSON.stringify(stories.after(after, limit)));
  } else if (what === 'requests' && id !== undefined && more.length === 0) {
    const story = stories.find(decoded(id));
    if (story === undefined) fail(404, 'this service does not remember such a request');
    else response.writeHead(200, json).end(JSON.stringify(story));
  } else fail(404, 'not found');
  return true;
}

function countIn(url: URL, name: string, absent: number, most: number): number | undefined {
  const text = url.searchParams.get(name);
  if (text === null) return absent;
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return count <= most ? count : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
