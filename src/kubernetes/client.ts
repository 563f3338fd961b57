import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import * as z from 'zod';
import type { Access } from './access.ts';
import { ApiError } from './api-error.ts';

export type PatchType = 'merge-patch+json' | 'json-patch+json' | 'apply-patch+yaml';

export interface CallOptions {
  readonly body?: object;
  /** What kind of patch the body is. */
  readonly patch?: PatchType;
  readonly signal?: AbortSignal;
}

/** Speaks JSON with the API server. */
export interface KubeClient {
  /** One request. Rejects with `ApiError` when it is refused, and with another Error when nobody answers in time. */
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<unknown>;
  /**
   * Follows a watch: `onLine` has every line of it. Resolves when the server ends it, or the signal does; rejects when
   * it is refused, cut or silent.
   */
  readonly watch: (
    path: string,
    options: { readonly signal: AbortSignal; readonly onOpen: () => void; readonly onLine: (line: string) => void },
  ) => Promise<void>;
  /** Ends what is under way, too. */
  readonly close: () => void;
}

export interface ClientLimits {
  /** The API server answers in milliseconds, or is in trouble. Default 15 s. */
  readonly callMs?: number;
  /** Bookmarks come every minute: a watch that says nothing for longer is not connected any more. Default 150 s. */
  readonly silentMs?: number;
  /** An object can have 1.5 MB in etcd, and twice that as JSON in an event. Default 8 Mi characters. */
  readonly longestLine?: number;
}

const statusBody = z.object({ message: z.string().default(''), reason: z.string().default('') });

export function createKubeClient(
  access: Pick<Access, 'server' | 'options' | 'close'>,
  { callMs = 15_000, silentMs = 150_000, longestLine = 8 * 1024 * 1024 }: ClientLimits = {},
): KubeClient {
  const request = access.server.startsWith('https:') ? tlsRequest : plainRequest;
  const over = new AbortController();
  const base = access.server.replace(/\/+$/, '');

  async function send(method: string, path: string, options: CallOptions) {
    const { body, patch, signal } = options;
    const { headers, ...how } = await access.options();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = patch === undefined ? 'application/json' : `application/${patch}`;
    const sent = request(`${base}${path}`, {
      ...how,
      method,
      headers: {
        ...Object.fromEntries(Object.entries(headers ?? {})),
        ...{ accept: 'application/json', 'user-agent': 'weir' },
        ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
      },
      signal: signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]),
    });
    sent.end(text);
    return sent;
  }

  return {
    call: async (method, path, options = {}) => {
      const sent = await send(method, path, options);
      const timer = setTimeout(() => sent.destroy(new Error('the API server does not answer')), callMs);
      try {
        const response = await answerOf(sent);
        return await read(response);
      } finally {
        clearTimeout(timer);
      }
    },
    watch: async (path, { signal, onOpen, onLine }) => {
      if (signal.aborted) return;
      const sent = await send('GET', path, { signal });
      // An answer that has begun says only that it was aborted, not why.
      let silence: Error | undefined;
      sent.setTimeout(silentMs, () => {
        silence = new Error('the watch has gone silent');
        sent.destroy(silence);
      });
      const timer = setTimeout(() => sent.destroy(new Error('the API server does not answer')), callMs);
      try {
        const response = await answerOf(sent);
        clearTimeout(timer);
        if (response.statusCode !== 200) {
          await read(response);
          return;
        }
        onOpen();
        await eachLine(response, { onLine, longestLine });
      } catch (error) {
        if (!signal.aborted) throw silence ?? error;
      } finally {
        clearTimeout(timer);
        sent.destroy();
      }
    },
    close: () => {
      over.abort();
      access.close();
    },
  };
}

function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once('response', resolve);
    sent.on('error', reject);
  });
}

/** The body as JSON. Throws ApiError for anything but success. */
async function read(response: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return JSON.parse(text);
  throw apiError(status, text);
}

function apiError(status: number, text: string): ApiError {
  try {
    return new ApiError(status, statusBody.parse(JSON.parse(text)));
  } catch {
    // A proxy in between answers in its own words.
    return new ApiError(status, { reason: '', message: text.slice(0, 200) });
  }
}

async function eachLine(
  response: IncomingMessage,
  { onLine, longestLine }: { readonly onLine: (line: string) => void; readonly longestLine: number },
): Promise<void> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const piece of response) {
    const lines = (rest + String(piece)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) throw new Error('the watch has a line that is too long');
    for (const line of lines) if (line !== '') onLine(line);
  }
}
