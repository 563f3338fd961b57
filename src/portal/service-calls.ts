import type * as z from 'zod';
import type { Clock } from '../core/clock.ts';
import { parseAnswer, textOf, withTimeout } from '../core/call-service.ts';

/** The answer of one service, or the reason why it did not answer. */
export interface ServiceReply<Said> {
  /** Origin of the service, with its address. */
  readonly service: string;
  readonly problem: string | null;
  readonly said: Said | undefined;
}

/** Largest answer, and largest event of a stream. A catalog of ten thousand endpoints has a megabyte. */
export const maxBytes = 32 * 1024 * 1024;

export interface ServiceCallOptions {
  /** `internalToken` of the database. */
  readonly token: () => string | Promise<string>;
  readonly clock: Pick<Clock, 'after'>;
  /** How long one service may take to answer, and how long its stream may be silent, milliseconds. */
  readonly timeoutMs: number;
}

export type ServiceCalls = ReturnType<typeof createServiceCalls>;

/** Calls the paths below `/internal/` on the ops ports of services. */
export function createServiceCalls({ token, clock, timeoutMs }: ServiceCallOptions) {
  /** Resolves to an answer of status 200, or to undefined after 404. Rejects in all other cases. */
  async function send(service: string, path: string, init: RequestInit): Promise<Response | undefined> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${await token()}`);
    headers.set('content-type', 'application/json');
    const response = await fetch(`${service}/internal/${path}`, { ...init, headers, redirect: 'error' });
    if (response.status === 200) return response;
    await response.body?.cancel();
    if (response.status === 404) return undefined;
    if (response.status === 401) throw new Error('it refuses the token: it has another database');
    throw new Error(`it answers with ${response.status}`);
  }

  /** Sends a GET request, or a PUT with `put`. Resolves to the answer of the service, or to undefined after 404. */
  function read<Schema extends z.ZodType>(
    service: string,
    path: string,
    schema: Schema,
    put?: object,
  ): Promise<z.output<Schema> | undefined> {
    return withTimeout({ clock, timeoutMs }, async (signal) => {
      const change = put && { method: 'PUT', body: JSON.stringify(put) };
      const response = await send(service, path, { ...change, signal });
      return response && parseAnswer(schema, await textOf(response, maxBytes));
    });
  }

  return { send, read };
}
