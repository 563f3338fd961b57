import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Agent, request } from 'undici';
import type { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { type LiveCatalog, liveCatalogSchema } from '../core/live-catalog.ts';
import { numberedStorySchema, type NumberedStory, type Story, storyPageSchema, storySchema } from '../core/story.ts';

/** What one service said, or why it said nothing. */
export type ServiceReply<Answer> =
  | { readonly service: string; readonly kind: 'answer'; readonly answer: Answer }
  | { readonly service: string; readonly kind: 'silent'; readonly problem: string };

/** The services beside the portal: what is live is known to them alone. */
export interface Services {
  /** How each one sees the catalog, at most a second old. */
  readonly catalogs: () => Promise<readonly ServiceReply<LiveCatalog>[]>;
  /** The story of a request by its id or its correlation id; undefined when no service remembers it. */
  readonly storyOf: (id: string) => Promise<Story | undefined>;
  /** The requests that ended at each service since it was asked last, oldest first; at the first call those that are to come. */
  readonly news: () => Promise<readonly NumberedStory[]>;
  readonly close: () => Promise<void>;
}

export interface ServicesOptions {
  /** The ops ports, such as `http://127.0.0.1:9090`. A host name with several addresses means all of them. */
  readonly urls: readonly URL[];
  /** What all processes with this database share. Never to be logged. */
  readonly sharedSecret: string;
  readonly clock: Clock;
}

const patienceMs = 3_000;
const catalogForMs = 1_000;
const addressesForMs = 5_000;
const newsAtOnce = 200;
const mostBytes = 32 * 1024 * 1024;

/** What the services take for a proof that somebody knows the database. */
function internalToken(sharedSecret: string): string {
  return createHmac('sha256', sharedSecret).update('weir-internal').digest('base64url');
}

interface Place {
  /** With the address instead of the host's name. */
  readonly base: string;
  readonly host: string;
}

export function createServices({ urls, sharedSecret, clock }: ServicesOptions): Services {
  const agent = new Agent({ connections: 8, keepAliveTimeout: 10_000 });
  const authorization = `Bearer ${internalToken(sharedSecret)}`;
  const places = remembered(addressesForMs, findPlaces);
  const catalogs = remembered(catalogForMs, () => askAll('/internal/catalog', liveCatalogSchema));
  /** Where each service was read up to, by the name of its process. */
  const readUpTo = new Map<string, { readonly process: string; readonly after: number }>();

  /** The result of `work`, and the same one again for a time: many pages ask for it. */
  function remembered<Result>(forMs: number, work: () => Promise<Result>): () => Promise<Result> {
    let last: { readonly at: number; readonly result: Promise<Result> } | undefined;
    return () => {
      if (last === undefined || clock.elapsed() - last.at >= forMs) {
        const result = work();
        last = { at: clock.elapsed(), result };
        result.catch(() => {
          if (last?.result === result) last = undefined;
        });
      }
      return last.result;
    };
  }

  async function findPlaces(): Promise<readonly ServiceReply<Place>[]> {
    const found = await Promise.all(
      urls.map(async (url): Promise<readonly ServiceReply<Place>[]> => {
        const name = url.hostname.replace(/^\[|\]$/g, '');
        const host = url.host;
        if (isIP(name) !== 0) return [{ service: url.origin, kind: 'answer', answer: { base: url.origin, host } }];
        try {
          const addresses = await lookup(name, { all: true });
          return addresses.map(({ address, family }) => {
            const at = family === 6 ? `[${address}]` : address;
            const base = `${url.protocol}//${at}${url.port === '' ? '' : `:${url.port}`}`;
            return { service: base, kind: 'answer', answer: { base, host } };
          });
        } catch (error) {
          return [{ service: url.origin, kind: 'silent', problem: messageOf(error) }];
        }
      }),
    );
    return found.flat();
  }

  async function ask<Schema extends z.ZodType>(
    place: Place,
    path: string,
    schema: Schema,
  ): Promise<z.output<Schema> | undefined> {
    const { statusCode, body } = await request(`${place.base}${path}`, {
      dispatcher: agent,
      headers: { authorization, host: place.host },
      headersTimeout: patienceMs,
      bodyTimeout: patienceMs,
      signal: signalAfter(patienceMs * 2),
    });
    if (statusCode === 404) {
      await body.dump();
      return undefined;
    }
    if (statusCode !== 200) {
      await body.dump();
      throw new Error(`it answered with status ${statusCode}`);
    }
    return schema.parse(await readJson(body));
  }

  function signalAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    clock.after(ms, () => controller.abort(new Error('it did not answer in time')));
    return controller.signal;
  }

  async function askAll<Schema extends z.ZodType>(
    path: string | ((place: Place) => string),
    schema: Schema,
  ): Promise<readonly ServiceReply<z.output<Schema>>[]> {
    return Promise.all(
      (await places()).map(async (found): Promise<ServiceReply<z.output<Schema>>> => {
        if (found.kind === 'silent') return found;
        const { service, answer: place } = found;
        try {
          const answer = await ask(place, typeof path === 'string' ? path : path(place), schema);
          if (answer === undefined) return { service, kind: 'silent', problem: 'it does not know what it was asked' };
          return { service, kind: 'answer', answer };
        } catch (error) {
          return { service, kind: 'silent', problem: problemOf(error) };
        }
      }),
    );
  }

  return {
    catalogs,
    storyOf: async (id) => {
      const replies = await askAll(`/internal/requests/${encodeURIComponent(id)}`, storySchema);
      return replies.flatMap((reply) => (reply.kind === 'answer' ? [reply.answer] : []))[0];
    },
    news: async () => {
      const after = (place: Place) => readUpTo.get(place.base)?.after;
      const replies = await askAll(
        (place) => `/internal/requests?after=${after(place) ?? 0}&limit=${newsAtOnce}`,
        storyPageSchema,
      );
      return replies.flatMap((reply) => {
        if (reply.kind === 'silent') return [];
        const { process, next_after: next, requests } = reply.answer;
        const before = readUpTo.get(reply.service);
        readUpTo.set(reply.service, { process, after: next });
        // What ended before the portal looked for the first time is no news, and neither is what a restarted service numbers anew.
        if (before === undefined || before.process !== process) return [];
        return requests.flatMap((one) => numberedStorySchema.safeParse(one).data ?? []);
      });
    },
    close: () => agent.destroy(),
  };
}

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > mostBytes) throw new Error('its answer is too large');
    parts.push(part);
  }
  const value: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
  return value;
}

/** In words that name no address: a page shows them beside the service. */
function problemOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return 'nothing listens there';
  return messageOf(error);
}
