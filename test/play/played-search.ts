import type { ServerResponse } from 'node:http';
import { startFakeEngine } from '../fake-engine/fake-engine.ts';
import type { SearchTrouble } from '../simulation/events.ts';
import { foundBody, replyTo, searchMs } from '../simulation/search-provider.ts';
import { outcomeIn } from '../simulation/searches.ts';

/** The simulation's provider of web search, as a server on the loopback. */
export interface PlayedSearch {
  readonly url: string;
  readonly set: (trouble: SearchTrouble) => void;
  readonly found: (query: string) => number;
  readonly close: () => Promise<void>;
}

export async function startPlayedSearch(): Promise<PlayedSearch> {
  const calls = new Map<string, number>();
  const found = new Map<string, number>();
  let trouble: SearchTrouble = 'none';

  function answer(query: string, response: ServerResponse): void {
    const count = (calls.get(query) ?? 0) + 1;
    calls.set(query, count);
    const reply = replyTo(query, { calls: count, trouble });
    const send = (): void => {
      switch (reply.kind) {
        case 'silent':
          return;
        case 'refused':
          response.destroy();
          return;
        case 'cut':
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write(foundBody(query).slice(0, 40), () => response.destroy());
          return;
        case 'status':
          response.writeHead(reply.status).end();
          return;
        case 'body':
          if (reply.body !== '<html>') found.set(query, (found.get(query) ?? 0) + 1);
          response.writeHead(200, { 'content-type': 'application/json' }).end(reply.body);
      }
    };
    const isSlow = trouble === 'slow' || outcomeIn(query) === 'slow';
    const timer = setTimeout(send, isSlow ? searchMs.slow : searchMs.usual);
    response.once('close', () => clearTimeout(timer));
  }

  const server = await startFakeEngine(({ body, response }) =>
    answer(new URLSearchParams(body).get('q') ?? '', response),
  );
  return {
    url: server.url,
    found: (query) => found.get(query) ?? 0,
    set: (now) => {
      trouble = now;
    },
    close: server.close,
  };
}
