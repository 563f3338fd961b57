import {
  AuthenticationV1Api,
  type ConfigurationOptions,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  EventsV1Api,
  HttpMethod,
  Observable,
  PatchStrategy,
  RequestContext,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { type Dispatcher, errors, request } from 'undici';
import * as z from 'zod';
import { messageOf } from '../../core/failure.ts';
import type { KubeAccess } from './access.ts';

/**
 * The API server. Every call rejects with `ApiError` if the API server refuses it, and with another Error if there is
 * no answer in time.
 */
export interface KubeClient {
  readonly objects: CustomObjectsApi;
  readonly core: CoreV1Api;
  readonly leases: CoordinationV1Api;
  readonly events: EventsV1Api;
  readonly authentication: AuthenticationV1Api;
  /** The answer to a list, as the server sends it. */
  readonly list: (path: string, signal: AbortSignal) => Promise<unknown>;
  /**
   * Follows a watch and passes each of its lines to `onLine`. Resolves when the server or the signal ends the watch;
   * rejects when it is refused, cut or silent, or when `onLine` throws.
   */
  readonly watch: (path: string, options: KubeWatch) => Promise<void>;
  /** Ends the calls that are under way, too. */
  readonly close: () => Promise<void>;
}

export interface KubeWatch {
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onLine: (line: string) => void;
}

export interface ClientLimits {
  /** Longest wait for an answer. A healthy API server answers in milliseconds. Default 15 s. */
  readonly callMs?: number;
  /** Bookmarks come every minute: a watch that is silent for longer has lost its connection. Default 150 s. */
  readonly silentMs?: number;
  /** An object can have 1.5 MB in etcd, and twice that as JSON in an event. Default 8 Mi characters. */
  readonly maxLineLength?: number;
  /** Most bytes of an answer. A list of many large objects is read in smaller pages. Default 16 MiB. */
  readonly maxAnswerBytes?: number;
}

/** The API server's answer has more bytes than are read. */
export class AnswerTooLarge extends Error {}

/** The API server answered, and refused. */
export class ApiError extends Error {
  readonly status: number;
  /** Kubernetes' own word for the reason: `NotFound`, `Conflict`, `Expired`, … */
  readonly reason: string;

  constructor(status: number, { reason, message }: { readonly reason: string; readonly message: string }) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

/** Whether a call was refused with one of these statuses. */
export function isRefusal(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/** Describes a failed call in one sentence for the log. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) return `the API server answered ${error.status} (${error.message})`;
  if (error instanceof z.ZodError) return `the API server's answer is not understood: ${z.prettifyError(error)}`;
  if (error instanceof AggregateError && error.message === '') return error.errors.map(String).join('; ');
  return messageOf(error);
}

export function createKubeClient(
  access: Pick<KubeAccess, 'server' | 'authentication' | 'close'>,
  {
    callMs = 15_000,
    silentMs = 150_000,
    maxLineLength = 8 * 1024 * 1024,
    maxAnswerBytes = 16 * 1024 * 1024,
  }: ClientLimits = {},
): KubeClient {
  const over = new AbortController();
  const base = access.server.replace(/\/+$/, '');

  /** Sends one request. Throws ApiError for anything but success, once it has the reason. */
  async function send(context: RequestContext, bodyTimeout: number): Promise<Dispatcher.ResponseData> {
    const [signal, body, dispatcher] = [context.getSignal(), context.getBody(), context.getDispatcher()];
    const response = await request(context.getUrl(), {
      method: context.getHttpMethod(),
      headers: { ...context.getHeaders(), 'user-agent': 'weir' },
      body: typeof body === 'string' ? body : null,
      signal: signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]),
      headersTimeout: callMs,
      bodyTimeout,
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    throw apiError(response.statusCode, String(await readBounded(response.body, maxAnswerBytes)));
  }

  async function get(path: string, signal: AbortSignal): Promise<RequestContext> {
    const context = new RequestContext(`${base}${path}`, HttpMethod.GET);
    await access.authentication.applySecurityAuthentication(context);
    context.setSignal(signal);
    return context;
  }

  async function read(context: RequestContext): Promise<Dispatcher.ResponseData & { readonly bytes: Buffer }> {
    try {
      const response = await send(context, callMs);
      return { ...response, bytes: await readBounded(response.body, maxAnswerBytes) };
    } catch (error) {
      throw isTimeout(error) ? new Error('the API server does not answer', { cause: error }) : error;
    }
  }

  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(base, {}),
    authMethods: { default: access.authentication },
    httpApi: wrapHttpLibrary({
      send: async (context) => {
        const { statusCode, headers, bytes } = await read(context);
        const type = String(headers['content-type'] ?? 'application/json');
        return new ResponseContext(statusCode, { 'content-type': type }, new SelfDecodingBody(Promise.resolve(bytes)));
      },
    }),
  });

  return {
    objects: new CustomObjectsApi(configuration),
    core: new CoreV1Api(configuration),
    leases: new CoordinationV1Api(configuration),
    events: new EventsV1Api(configuration),
    authentication: new AuthenticationV1Api(configuration),
    list: async (path, signal) => JSON.parse(String((await read(await get(path, signal))).bytes)),
    watch: async (path, { signal, onOpen, onLine }) => {
      if (signal.aborted) return;
      let isOpen = false;
      try {
        const { body } = await send(await get(path, signal), silentMs);
        isOpen = true;
        onOpen();
        await eachLine(body, { onLine, maxLineLength });
      } catch (error) {
        if (signal.aborted) return;
        if (!isTimeout(error)) throw error;
        throw new Error(isOpen ? 'the watch has gone silent' : 'the API server does not answer', { cause: error });
      }
    },
    close: async () => {
      over.abort();
      await access.close();
    },
  };
}

/** Options of a call that the signal breaks off. */
export function abortedBy(signal: AbortSignal): ConfigurationOptions {
  const unchanged = <Context>(context: Context): Observable<Context> => new Observable(Promise.resolve(context));
  const pre = (context: RequestContext): Observable<RequestContext> => {
    context.setSignal(signal);
    return unchanged(context);
  };
  return { middleware: [{ pre, post: unchanged }], middlewareMergeStrategy: 'append' };
}

/** Options of a call whose body is merged into the object. */
export const mergePatch: ConfigurationOptions = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

function isTimeout(error: unknown): boolean {
  return (
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError
  );
}

const statusBody = z.object({ message: z.string().default(''), reason: z.string().default('') });

function apiError(status: number, text: string): ApiError {
  try {
    return new ApiError(status, statusBody.parse(JSON.parse(text)));
  } catch {
    // The answer of a proxy in between has another form than Kubernetes' own.
    return new ApiError(status, { reason: '', message: text.slice(0, 200) });
  }
}

async function readBounded(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    const read = Buffer.from(piece);
    bytes += read.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw new AnswerTooLarge(`the API server's answer has more than ${maxBytes} bytes`);
    pieces.push(read);
  }
  return Buffer.concat(pieces);
}

async function eachLine(
  body: Dispatcher.ResponseData['body'],
  { onLine, maxLineLength }: { readonly onLine: (line: string) => void; readonly maxLineLength: number },
): Promise<void> {
  body.setEncoding('utf8');
  let rest = '';
  for await (const piece of body) {
    const lines = (rest + String(piece)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLineLength) throw new Error('the watch has a line that is too long');
    for (const line of lines) if (line !== '') onLine(line);
  }
}
