import type { ServerResponse } from 'node:http';
import { startFakeEngine } from '../../fake-engine/fake-engine.ts';

/** A result as SearXNG has it. */
export interface SearchPage {
  readonly url: string;
  readonly title: string;
  readonly content: string;
  readonly publishedDate?: string;
}

/** How the next searches are answered: with pages by what is asked, or not properly. */
export type SearchAnswer =
  | { readonly kind: 'pages'; readonly pages: (query: string) => readonly SearchPage[] }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unresponsive' }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' };

/** Something that speaks like a SearXNG instance: `POST /search` with a form, `format=json`. */
export interface SearchServer {
  readonly url: string;
  readonly port: number;
  /** Forms that came, in order. */
  readonly asked: () => readonly URLSearchParams[];
  /** Answers from now on like this, but so many times only as there are entries before the last. */
  readonly answer: (...answers: readonly [SearchAnswer, ...SearchAnswer[]]) => void;
  /** Resolves when so many searches have come. */
  readonly until: (count: number) => Promise<void>;
  /** Searches that were given up by who asked. */
  readonly aborted: () => number;
  readonly reset: () => void;
  readonly close: () => Promise<void>;
}

/** Two pages about whatever is asked. */
export const usualPages = (query: string): readonly SearchPage[] =>
  ['a', 'b'].map((name, index) => ({
    url: `https://${name}.example/${encodeURIComponent(query)}`,
    title: `Page ${name} on ${query}`,
    content: `It is known of ${query}. The answer is ${index + 41}, says ${name}.`,
    ...(name === 'a' ? { publishedDate: '2026-01-31T00:00:00' } : {}),
  }));

const usual: SearchAnswer = { kind: 'pages', pages: usualPages };

export async function startSearchServer(): Promise<SearchServer> {
  const asked: URLSearchParams[] = [];
  const waiting: (readonly [number, () => void])[] = [];
  let answers: readonly SearchAnswer[] = [usual];
  let aborted = 0;

  function reply(response: ServerResponse, query: string): void {
    const [next = usual, ...others] = answers;
    if (others.length > 0) answers = others;
    const json = (value: unknown): unknown =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    switch (next.kind) {
      case 'pages':
        json({ query, results: next.pages(query), answers: [], unresponsive_engines: [] });
        return;
      case 'unresponsive':
        json({ query, results: [], unresponsive_engines: [['some engine', 'timeout']] });
        return;
      case 'status':
        response.writeHead(next.status).end('sorry');
        return;
      case 'text':
        response.writeHead(200, { 'content-type': 'text/html' }).end(next.text);
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'silence':
        response.once('close', () => {
          aborted += 1;
        });
    }
  }

  const server = await startFakeEngine(({ request, body, response }) => {
    const form = new URLSearchParams(body);
    const isSearch = request.method === 'POST' && request.url === '/search' && form.get('format') === 'json';
    if (!isSearch) {
      response.writeHead(404).end();
      return;
    }
    asked.push(form);
    reply(response, form.get('q') ?? '');
    for (const [count, resolve] of waiting) if (asked.length >= count) resolve();
  });
  return {
    port: server.port,
    url: server.url,
    asked: () => asked,
    answer: (...given) => {
      answers = given;
    },
    until: (count) =>
      asked.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push([count, resolve])),
    aborted: () => aborted,
    reset: () => {
      asked.length = 0;
      aborted = 0;
      answers = [usual];
    },
    close: server.close,
  };
}
