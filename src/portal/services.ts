import { lookup } from 'node:dns/promises';
import type * as z from 'zod';
import type { Clock } from '../core/clock.ts';
import { waitFor } from '../core/clock.ts';
import { hostInUrl } from '../core/address.ts';
import { messageOf } from '../core/failure.ts';
import { type LiveCatalog, liveCatalogSchema } from '../core/live-catalog.ts';
import { type LogLevel, logLevelBodySchema } from '../core/log-level.ts';
import { type ProblemReport, problemReportSchema } from '../core/problem.ts';
import {
  foundStoriesSchema,
  type EndedStory,
  type NumberedStory,
  numberedStorySchema,
  type Story,
  storyPageSchema,
} from '../core/story.ts';

export interface LiveServicesOptions {
  /** Ops ports, `http://host:port`. A host name means each of its addresses. Read anew for each question. */
  readonly origins: () => readonly string[];
  /** `internalToken` of the database. */
  readonly token: () => string | Promise<string>;
  readonly clock: Pick<Clock, 'after'>;
  /** Every address of a host name. Default: the system's resolver. */
  readonly lookUp?: (host: string) => Promise<readonly string[]>;
  /** How long one service may take to answer, milliseconds. Default: 3 s. */
  readonly patienceMs?: number;
}

/** Whether a service answered. */
export interface ServiceAnswer {
  /** Its origin, with its address. */
  readonly service: string;
  readonly answers: boolean;
  /** Why it did not. */
  readonly problem: string | null;
}

/** What several services said, one by one. Never rejects: a service that does not answer is told of. */
export interface Answers<Said> {
  readonly services: readonly ServiceAnswer[];
  readonly data: readonly { readonly service: string; readonly said: Said }[];
}

/** The services of a gateway, as the portal, `weir explain`, `weir problems` and `weir log-level` ask them. */
export interface LiveServices {
  readonly catalog: () => Promise<Answers<LiveCatalog>>;
  /** What each of them knows to be wrong now: `createProblemList` makes one list of it. */
  readonly problems: () => Promise<Answers<ProblemReport>>;
  /** The story of the request with exactly this id, alone; where there is none, of those with this correlation id, newest first. */
  readonly find: (
    id: string,
  ) => Promise<{ readonly services: readonly ServiceAnswer[]; readonly stories: readonly Story[] }>;
  /** The last requests of all services, newest first, refused ones included. */
  readonly recent: (
    limit: number,
  ) => Promise<{ readonly services: readonly ServiceAnswer[]; readonly stories: readonly Story[] }>;
  /** The least level that each of them logs, after it was changed where `change` names another. */
  readonly logLevel: (change: LogLevel | undefined) => Promise<Answers<LogLevel>>;
  /** Tells of every request that ends from now on, with at most a second's delay, until the result is called. */
  readonly follow: (listener: ServicesListener) => () => void;
}

export interface ServicesListener {
  readonly stories: (stories: readonly EndedStory[]) => void;
  /** Called each time with who answers. */
  readonly asked?: (services: readonly ServiceAnswer[]) => void;
  /** Requests ended that nobody can tell of any more: there were too many at once. */
  readonly missed?: (requests: number) => void;
}

/** What one service answers at most: a catalog of ten thousand endpoints has a megabyte. */
const mostBytes = 32 * 1024 * 1024;
/** A headless Service has an address for each pod. */
const mostAddresses = 256;
const usualPatienceMs = 3_000;
const followEveryMs = 1_000;
/** Stories in one answer, the most that a service gives. */
const pageSize = 100;
/** Pages that are read of one service in a row to find the last thousand. */
const mostPages = 15;
/** Stories of one service that are read in one look while it is followed, the newest ones: nobody reads more in a second. */
const mostFollowed = 2 * pageSize;

/** How far one service has been read. */
interface Cursor {
  process: string;
  after: number;
}

export function createServices(options: LiveServicesOptions): LiveServices {
  const { clock, token, patienceMs = usualPatienceMs } = options;
  const lookUp = options.lookUp ?? systemLookUp;

  /** The services as there are now, each by its address. */
  async function addresses(): Promise<readonly (ServiceAnswer | { readonly service: string })[]> {
    const found = await Promise.all(
      options.origins().map(async (origin) => {
        const url = new URL(origin);
        try {
          const hosts = await inTime(() => lookUp(url.hostname.replace(/^\[|\]$/g, '')));
          if (hosts.length === 0) throw new Error('its name has no address');
          return hosts.map((host) => ({
            service: `http://${hostInUrl(host)}:${url.port || '80'}`,
          }));
        } catch (error) {
          return [{ service: origin, answers: false, problem: messageOf(error) }];
        }
      }),
    );
    const each = new Map(found.flat().map((one) => [one.service, one]));
    return [...each.values()].slice(0, mostAddresses);
  }

  async function inTime<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const late = new AbortController();
    const cancel = clock.after(patienceMs, () => late.abort(new Error(`no answer within ${patienceMs} ms`)));
    const aborted = new Promise<never>((_, reject) => {
      late.signal.addEventListener('abort', () => reject(late.signal.reason), { once: true });
    });
    try {
      return await Promise.race([run(late.signal), aborted]);
    } finally {
      cancel();
    }
  }

  /** What a service answers, to `put` where it is given; undefined: it knows no such thing. Rejects when it does not answer, or with something else. */
  async function call<Schema extends z.ZodType>(
    service: string,
    path: string,
    schema: Schema,
    put?: object,
  ): Promise<z.output<Schema> | undefined> {
    return inTime(async (signal) => {
      const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' };
      const change = put && { method: 'PUT', body: JSON.stringify(put) };
      const response = await fetch(`${service}/internal/${path}`, { ...change, headers, signal, redirect: 'error' });
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      if (response.status === 401) {
        await response.body?.cancel();
        throw new Error('it refuses the token: it has another database');
      }
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new Error(`it answers with ${response.status}`);
      }
      const read = schema.safeParse(JSON.parse(await textOf(response)));
      if (read.success) return read.data;
      const [issue] = read.error.issues;
      throw new Error(`its answer is not understood (${issue?.path.join('.') ?? ''}): another version?`);
    });
  }

  async function ask<Said>(question: (service: string) => Promise<Said | undefined>): Promise<Answers<Said>> {
    const all = await Promise.all(
      (await addresses()).map(
        async (one): Promise<{ readonly answer: ServiceAnswer; readonly said?: Said | undefined }> => {
          if ('answers' in one) return { answer: one };
          const { service } = one;
          try {
            const said = await question(service);
            return { answer: { service, answers: true, problem: null }, said };
          } catch (error) {
            return { answer: { service, answers: false, problem: reasonOf(error) } };
          }
        },
      ),
    );
    return {
      services: all.map(({ answer }) => answer),
      data: all.flatMap(({ answer, said }) => (said === undefined ? [] : [{ service: answer.service, said }])),
    };
  }

  async function page(service: string, after: number) {
    const found = await call(service, `requests?after=${after}&limit=${pageSize}`, storyPageSchema);
    if (found === undefined) throw new Error('it is of a version that tells no stories');
    // What a newer version tells in other words is left out, and spoils nothing else.
    const requests = found.requests.flatMap((one): readonly NumberedStory[] => {
      const read = numberedStorySchema.safeParse(one);
      return read.success ? [read.data] : [];
    });
    return { ...found, requests };
  }

  /** The requests after a number, as far as they fill `mostPages`, and how far they were read. */
  async function pages(
    service: string,
    from: Cursor,
  ): Promise<{ stories: EndedStory[]; missed: number; cursor: Cursor }> {
    const stories: EndedStory[] = [];
    let cursor = from;
    let missed = 0;
    for (let read = 0; read < mostPages; read += 1) {
      const found = await page(service, cursor.after);
      if (found.process !== cursor.process) {
        // Restarted: its numbers begin anew, and all that it knows is new.
        cursor = { process: found.process, after: 0 };
        continue;
      }
      for (const { seq: _, ...story } of found.requests) stories.push(story);
      missed += found.missed;
      cursor = { process: found.process, after: found.next_after };
      if (!found.has_more) break;
    }
    return { stories, missed, cursor };
  }

  /** The newest requests after a number: what is left out of a flood is missed. */
  async function newest(service: string, from: Cursor): ReturnType<typeof pages> {
    const end = await latest(service);
    const isSame = end.process === from.process;
    if (isSame && end.after === from.after) return { stories: [], missed: 0, cursor: from };
    const first = Math.max(isSame ? from.after : 0, end.after - mostFollowed);
    const found = await pages(service, { process: end.process, after: first });
    return isSame ? { ...found, missed: found.missed + (first - from.after) } : found;
  }

  /** Where a service is now. */
  async function latest(service: string): Promise<Cursor> {
    const found = await page(service, Number.MAX_SAFE_INTEGER);
    return { process: found.process, after: found.next_after };
  }

  return {
    catalog: () => ask((service) => call(service, 'catalog', liveCatalogSchema)),
    problems: () => ask((service) => call(service, 'problems', problemReportSchema)),
    find: async (id) => {
      const { services, data } = await ask((service) =>
        call(service, `requests/${encodeURIComponent(id)}`, foundStoriesSchema),
      );
      const found = data.flatMap(({ said }) => said.requests);
      const exact = found.find((story) => story.id === id);
      return { services, stories: exact === undefined ? found.sort(byNewest) : [exact] };
    },
    recent: async (limit) => {
      const { services, data } = await ask(async (service) => {
        const { process, after } = await latest(service);
        return pages(service, { process, after: Math.max(0, after - limit) });
      });
      const stories = data.flatMap(({ said }) => said.stories.map(({ settled: _, ...story }) => story));
      return { services, stories: stories.sort(byNewest).slice(0, limit) };
    },
    logLevel: (change) =>
      ask(async (service) => {
        const found = await call(service, 'log-level', logLevelBodySchema, change && { level: change });
        if (found === undefined) throw new Error('it is of a version whose level cannot be changed');
        return found.level;
      }),
    follow: (listener) => {
      const ended = new AbortController();
      const cursors = new Map<string, Cursor>();
      /** Services that were there without an answer: how old what they know is cannot be told. */
      const silent = new Set<string>();

      async function look(isFirst: boolean): Promise<void> {
        const { services, data } = await ask(async (service) => {
          const known = cursors.get(service);
          if (known !== undefined) return newest(service, known);
          if (isFirst || silent.has(service)) return { stories: [], missed: 0, cursor: await latest(service) };
          // Of a service that joins later everything is new.
          return newest(service, { process: '', after: 0 });
        });
        if (ended.signal.aborted) return;
        const there = new Set(services.map(({ service }) => service));
        for (const service of cursors.keys()) if (!there.has(service)) cursors.delete(service);
        silent.clear();
        for (const { service, answers } of services) if (!answers && !cursors.has(service)) silent.add(service);
        for (const { service, said } of data) cursors.set(service, said.cursor);
        listener.asked?.(services);
        const missed = data.reduce((sum, { said }) => sum + said.missed, 0);
        if (missed > 0) listener.missed?.(missed);
        const stories = data.flatMap(({ said }) => said.stories).sort((a, b) => byNewest(b, a));
        if (stories.length > 0) listener.stories(stories);
      }

      async function run(): Promise<void> {
        for (let isFirst = true; !ended.signal.aborted; isFirst = false) {
          await look(isFirst);
          await waitFor(followEveryMs, { clock, signal: ended.signal });
        }
      }

      void run();
      return () => ended.abort();
    },
  };
}

const rememberedMs = 1_000;

/** The same answer for a second: many pages ask, and one question serves all of them. */
export function rememberAnswer<Answer>(
  ask: () => Promise<Answer>,
  clock: Pick<Clock, 'elapsed'>,
): () => Promise<Answer> {
  let last: { readonly at: number; readonly answer: Promise<Answer> } | undefined;
  return () => {
    if (last === undefined || clock.elapsed() - last.at >= rememberedMs) last = { at: clock.elapsed(), answer: ask() };
    return last.answer;
  };
}

const byNewest = (a: Story, b: Story): number =>
  a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0;

async function systemLookUp(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** `fetch` says "fetch failed", and why in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message !== '' ? cause.message : messageOf(error);
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > mostBytes) throw new Error(`its answer is larger than ${mostBytes} bytes`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
