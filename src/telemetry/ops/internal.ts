import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasInternalToken } from '../../core/internal-token.ts';
import { type LogLevelControl, logLevelBodySchema } from '../../core/log-level.ts';
import type { Story } from '../core/story.ts';
import type { Diagnosis, DoctorQuestion } from '../../core/diagnosis.ts';
import { messageOf } from '../../core/failure.ts';
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
  /** The live catalog as JSON text, in pieces. The event loop serves requests between two pieces. */
  readonly catalog: () => AsyncIterable<string>;
  /** Asks the engines of a Backend, or of all, whether they are what the manifests say. Absent: the program has none. */
  readonly doctor?: ((question: DoctorQuestion) => Promise<readonly Diagnosis[]>) | undefined;
}

/** Longest body that sets the log level, characters. */
const maxLevelLength = 1_000;

const prefix = '/internal/';
const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** Answers paths below `/internal/`, with the token alone. Returns false for other paths. */
export function answerInternal(
  request: IncomingMessage,
  response: ServerResponse,
  { secret, stories, logLevel, problems, catalog, doctor, streams }: Internal & { readonly streams: EventStreams },
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
  const [what, id, ...more] = url.pathname.slice(prefix.length).split('/');
  if (what === 'log-level' && id === undefined && request.method === 'PUT') {
    // After a body that breaks off, no caller waits for an answer.
    putLogLevel(request, logLevel).then(
      (problem) =>
        problem === undefined
          ? response.writeHead(200, json).end(JSON.stringify({ level: logLevel.current() }))
          : fail(400, problem),
      () => response.destroy(),
    );
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
  } else fail(404, 'not found');
  return true;
}

/** Sets the level that a body such as `{"level": "debug"}` names. Resolves to the error in a wrong body, otherwise to undefined. */
async function putLogLevel(request: IncomingMessage, logLevel: LogLevelControl): Promise<string | undefined> {
  let text = '';
  // A body that is too long is read to its end, but only its beginning is kept, which is not valid JSON.
  for await (const piece of request.setEncoding('utf8')) if (text.length < maxLevelLength) text += String(piece);
  const read = logLevelBodySchema.safeParse(parseJson(text));
  if (read.success) {
    logLevel.set(read.data.level);
    return undefined;
  }
  const [issue] = read.error.issues;
  return issue && [issue.path.join('.'), issue.message].filter((part) => part !== '').join(': ');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
