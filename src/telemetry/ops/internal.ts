import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type * as z from 'zod';
import { type KeyBlock, keyBlockSchema } from '../../core/key-block.ts';
import { hasInternalToken } from '../../core/internal-token.ts';
import { type LogLevelControl, logLevelBodySchema } from '../../core/log-level.ts';
import type { Story } from '../core/story.ts';
import type { Diagnosis, DoctorQuestion } from '../../core/diagnosis.ts';
import { messageOf } from '../../core/failure.ts';
import { type RecentTraffic, trafficGroup, trafficGroups } from '../core/traffic.ts';
import { parseJson } from '../../core/json.ts';
import type { EventSources, EventStreams } from './event-streams.ts';

/** The state of a service for the portal, `weir explain`, `weir problems` and `weir log-level`, and the log level, which they change. */
export interface Internal extends EventSources {
  /** The current secret of the database. */
  readonly secret: () => string;
  readonly stories: EventSources['stories'] & {
    readonly find: (id: string) => readonly Story[];
  };
  readonly logLevel: LogLevelControl;
  /** Takes the status of a key that cannot be written into the database. */
  readonly blockKey?: (block: KeyBlock) => void;
  /** The rows of the last minute for `weir top`. */
  readonly traffic?: Pick<RecentTraffic, 'read'>;
  /** The live catalog as JSON text, in pieces. The event loop serves requests between two pieces. */
  readonly catalog: () => AsyncIterable<string>;
  /** Asks the engines of a Backend, or of all, whether they are what the manifests say. Absent: the program has none. */
  readonly doctor?: ((question: DoctorQuestion) => Promise<readonly Diagnosis[]>) | undefined;
}

/** Longest body, characters. */
const maxBodyLength = 1_000;

const prefix = '/internal/';
const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** Answers paths below `/internal/`, with the token alone. Returns false for other paths. */
export function answerInternal(
  request: IncomingMessage,
  response: ServerResponse,
  internal: Internal & { readonly streams: EventStreams },
): boolean {
  const { secret, stories, logLevel, problems, catalog, doctor, streams, traffic, blockKey } = internal;
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
  const [what, id, ...more] = url.pathname.slice(prefix.length).split('/');
  const put = <Schema extends z.ZodType>(schema: Schema, change: (value: z.output<Schema>) => object): void => {
    readBody(request, schema).then(
      (read) =>
        'problem' in read
          ? fail(400, read.problem)
          : response.writeHead(200, json).end(JSON.stringify(change(read.value))),
      // After a body that breaks off, no caller waits for an answer.
      () => response.destroy(),
    );
  };
  if (what === 'log-level' && id === undefined && request.method === 'PUT') {
    put(logLevelBodySchema, ({ level }) => {
      logLevel.set(level);
      return { level: logLevel.current() };
    });
    return true;
  }
  if (what === 'key-blocks' && id === undefined && request.method === 'PUT' && blockKey !== undefined) {
    put(keyBlockSchema, (block) => {
      blockKey(block);
      return {};
    });
    return true;
  }
  if (request.method !== 'GET') {
    fail(405, what === 'log-level' ? 'expected GET or PUT' : 'expected GET');
    return true;
  }
  if (what === 'catalog' && id === undefined) {
    response.writeHead(200, json);
    // The caller may close the connection before the end. That is no error.
    pipeline(Readable.from(catalog()), response).catch(() => response.destroy());
  } else if (what === 'events' && id === undefined) {
    streams.open(response, request.headers['last-event-id']?.toString());
  } else if (what === 'problems' && id === undefined) {
    response.writeHead(200, json).end(JSON.stringify(problems()));
  } else if (what === 'log-level' && id === undefined) {
    response.writeHead(200, json).end(JSON.stringify({ level: logLevel.current() }));
  } else if (what === 'doctor' && more.length === 0 && doctor !== undefined) {
    const depth = url.searchParams.get('depth') === 'deep' ? 'deep' : 'usual';
    doctor({ backend: id === undefined || id === '' ? undefined : decoded(id), depth }).then(
      (diagnoses) => response.writeHead(200, json).end(JSON.stringify({ diagnoses })),
      (error: unknown) => response.writeHead(200, json).end(JSON.stringify({ error: messageOf(error) })),
    );
  } else if (what === 'requests' && id !== undefined && more.length === 0) {
    const requests = stories.find(decoded(id));
    if (requests.length === 0) fail(404, 'this service does not remember such a request');
    else response.writeHead(200, json).end(JSON.stringify({ requests }));
  } else if (what === 'top' && traffic !== undefined && more.length === 0) {
    const group = trafficGroup.safeParse(id);
    if (group.success) response.writeHead(200, json).end(JSON.stringify({ rows: traffic.read(group.data) }));
    else fail(404, `expected one of ${trafficGroups.join(', ')}`);
  } else fail(404, 'not found');
  return true;
}

/** Reads a body of JSON. */
async function readBody<Schema extends z.ZodType>(
  request: IncomingMessage,
  schema: Schema,
): Promise<{ readonly value: z.output<Schema> } | { readonly problem: string }> {
  let text = '';
  // A body that is too long is read to its end, but only its beginning is kept, which is not valid JSON.
  for await (const piece of request.setEncoding('utf8')) if (text.length < maxBodyLength) text += String(piece);
  const read = schema.safeParse(parseJson(text));
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  return { problem: [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ') };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
