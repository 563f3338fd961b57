import type * as z from 'zod';
import { hostInUrl, type LookUp } from './address.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './failure.ts';

interface TimeLimit {
  readonly clock: Pick<Clock, 'after'>;
  readonly timeoutMs: number;
}

/**
 * The origins of the services behind one origin: a host name means each of its addresses. Rejects if it has none, and after the time
 * limit.
 */
export async function serviceOrigins(
  origin: string,
  { lookUp, ...limit }: TimeLimit & { readonly lookUp: LookUp },
): Promise<readonly string[]> {
  const url = new URL(origin);
  const hosts = await withTimeout(limit, () => lookUp(url.hostname.replace(/^\[|\]$/g, '')));
  if (hosts.length === 0) throw new Error('its name has no address');
  return hosts.map((host) => `http://${hostInUrl(host)}:${url.port || '80'}`);
}

/** Rejects after the time limit, and aborts the signal. */
export async function withTimeout<Result>(
  { clock, timeoutMs }: TimeLimit,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort(new Error(`no answer within ${timeoutMs} ms`)));
  const aborted = new Promise<never>((_, reject) => {
    late.signal.addEventListener('abort', () => reject(late.signal.reason), { once: true });
  });
  try {
    return await Promise.race([run(late.signal), aborted]);
  } finally {
    cancel();
  }
}

/** Reads a body to its end. Rejects if it has more than `maxBytes`. */
export async function textOf(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error(`its answer is larger than ${maxBytes} bytes`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** Parses the answer of a service. Throws a sentence that names the field. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  const read = schema.safeParse(JSON.parse(text));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`its answer is not understood (${issue?.path.join('.') ?? ''}): another version?`);
}

/** Why a call failed. The message of `fetch` is "fetch failed"; its cause has the reason. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message !== '' ? cause.message : messageOf(error);
}
