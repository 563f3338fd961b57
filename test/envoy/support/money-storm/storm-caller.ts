import type { Caller } from '../caller.ts';
import type { Leaving, StormKey, StormRequest } from './storm-kinds.ts';

/** What its caller saw of one request. */
export interface StormRecord {
  /** Sent as `x-request-id`, and with the prompt as a note to the engine. */
  readonly mark: string;
  readonly request: StormRequest;
  /** Which of the gateways it went to. */
  readonly replica: number;
  /** Monotonic milliseconds. */
  readonly sentMs: number;
  readonly endedMs: number;
  /** 0: no answer came. */
  readonly status: number;
  /** `left`: the caller hung up. `cut`: the connection broke. `hung`: nobody ended it. */
  readonly end: 'clean' | 'cut' | 'left' | 'hung';
  readonly text: string;
}

/** Far above what any request of a storm takes. */
const timeoutMs = 40_000;

const pieces =
  /"delta":\{(?:"content"|"type":"text_delta","text"):"[^"]|"type":"response\.output_text\.delta",[^\n]*"delta":"[^"]/g;

/** Pieces of text in a stream of any surface. */
export const piecesIn = (text: string): number => text.match(pieces)?.length ?? 0;

function isFarEnough(text: string, leaving: Exclude<Leaving, { readonly kind: 'after' }>): boolean {
  return leaving.kind === 'pieces' ? piecesIn(text) >= leaving.count : text.includes('"finish_reason":"stop"');
}

function bodyOf(request: StormRequest, mark: string): object | string {
  const { surface, model, stream, includeUsage, directives, fields, parts, rawBody } = request;
  if (rawBody !== undefined) return rawBody;
  const text = `How high is it? [[demo ${JSON.stringify({ ...directives, note: mark })}]]`;
  const content =
    parts === undefined ? text : [{ type: surface === 'responses' ? 'input_text' : 'text', text }, ...parts];
  const system = 'You measure water.';
  const user = { role: 'user', content };
  if (surface === 'messages') {
    return { model, stream, max_tokens: 4096, thinking: { type: 'disabled' }, system, messages: [user], ...fields };
  }
  if (surface === 'responses') {
    return { model, stream, instructions: system, input: [user], reasoning: { effort: 'none' }, ...fields };
  }
  const options = stream && includeUsage ? { stream_options: { include_usage: true } } : {};
  const messages = [{ role: 'system', content: system }, user];
  return { model, stream, messages, ...options, reasoning_effort: 'none', ...fields };
}

const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const;

export interface StormSend {
  readonly mark: string;
  readonly replica: number;
  readonly caller: Caller;
  readonly keys: Readonly<Record<StormKey, string>>;
  /** Of the caller, as a trusted proxy tells it. */
  readonly address: string;
}

/** The tags of a request: one, because the exports are read without quotes. */
export function tagsOf({ key, stream }: StormRequest): string {
  return `kind=${key}/${stream ? 'stream' : 'whole'}`;
}

/** Makes one request and resolves, whatever becomes of it, to what its caller saw. */
export async function sendStorm(request: StormRequest, options: StormSend): Promise<StormRecord> {
  const { mark, replica, caller, keys, address } = options;
  const sentMs = performance.now();
  let status = 0;
  let text = (): string => '';
  let end: StormRecord['end'] = 'cut';
  const open = caller.open(bodyOf(request, mark), {
    path: paths[request.surface ?? 'chat'],
    headers: {
      ...{ 'x-request-id': mark, 'x-forwarded-for': address, authorization: `Bearer ${keys[request.key]}` },
      'x-weir-tags': tagsOf(request),
    },
  });
  const leave = (as: 'left' | 'hung'): void => {
    if (end === 'hung') return;
    end = as;
    open.leave();
  };
  const timers = [setTimeout(leave, timeoutMs, 'hung')];
  const { leaving } = request;
  if (leaving?.kind === 'after') timers.push(setTimeout(leave, leaving.ms, 'left'));
  try {
    const answer = await open.answer;
    ({ status, text } = answer);
    if (leaving !== undefined && leaving.kind !== 'after' && status === 200) {
      await answer.until((now) => isFarEnough(now, leaving) || now.includes('[DONE]')).catch(() => undefined);
      if (isFarEnough(text(), leaving)) leave('left');
    }
    const how = await answer.ended;
    if (how === 'clean') end = 'clean';
  } catch {
    // No answer came: the check of the books knows whether it may not have.
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
  return { mark, request, replica, sentMs, endedMs: performance.now(), status, end, text: text() };
}
