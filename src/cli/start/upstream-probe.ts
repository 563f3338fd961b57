import * as z from 'zod';
import type { EngineName } from '../../core/catalog.ts';
import { StartRefusal } from './refusal.ts';
import { guessEngine, readModelList, type UpstreamEntry } from './upstream-list.ts';

/** What an engine says of itself. */
export interface Upstream {
  readonly engine: EngineName;
  /** The address before `/models` and `/chat/completions`. */
  readonly base: URL;
  readonly entries: readonly UpstreamEntry[];
}

const timeoutMs = 15_000;

/**
 * Asks an engine for its models, at `<url>/models` and at `<url>/v1/models`.
 * Throws StartRefusal with the reason when it is unreachable, refuses the key or does not answer with a model list.
 */
export async function probeUpstream(
  url: URL,
  options: { readonly key?: string; readonly signal: AbortSignal },
): Promise<Upstream> {
  const reasons: string[] = [];
  for (const base of basesOf(url)) {
    const answer = await ask(`${base}/models`, options);
    if (answer.kind === 'refused') throw new StartRefusal(answer.reason);
    if (answer.kind === 'other') {
      reasons.push(answer.reason);
      continue;
    }
    const entries = readModelList(answer.json);
    if (entries === undefined) {
      reasons.push(`${base}/models answers with something that is not a model list`);
      continue;
    }
    if (entries.length === 0)
      throw new StartRefusal(`--upstream: ${base}/models lists no model. Load one there and start again.`);
    const engine = guessEngine(url.hostname, entries);
    const measured = engine === 'llamacpp' ? await llamacppWindow(base, options) : undefined;
    return {
      engine,
      base: new URL(base),
      entries: measured === undefined ? entries : entries.map((entry) => ({ ...entry, max_model_len: measured })),
    };
  }
  throw new StartRefusal(
    `--upstream: ${reasons.join('; ')}. Expected an engine that speaks the chat completions format.`,
  );
}

/** The places an address can mean: with and without `/v1`, with `/models` or `/chat/completions` typed along. */
function basesOf(url: URL): readonly string[] {
  const path = url.pathname.replace(/\/+$/, '').replace(/\/(models|chat\/completions)$/, '');
  const plain = `${url.origin}${path}`;
  return /\/v\d+[a-z0-9]*$/.test(path) ? [plain] : [`${plain}/v1`, plain];
}

type Answer =
  | { readonly kind: 'json'; readonly json: unknown }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'other'; readonly reason: string };

async function ask(address: string, options: { readonly key?: string; readonly signal: AbortSignal }): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(address, {
      headers: {
        accept: 'application/json',
        ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
      },
      redirect: 'manual',
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]),
    });
  } catch (error) {
    return { kind: 'refused', reason: `--upstream: ${address} cannot be reached: ${causeOf(error)}.` };
  }
  const { status } = response;
  if (status === 401 || status === 403) {
    await response.body?.cancel();
    const reason =
      options.key === undefined ? 'asks for a key; give it with --upstream-key' : 'refuses the key of --upstream-key';
    return { kind: 'refused', reason: `--upstream: ${address} ${reason} (status ${status}).` };
  }
  if (status !== 200) {
    await response.body?.cancel();
    const target = response.headers.get('location');
    return {
      kind: 'other',
      reason: `${address} answers with status ${status}${target === null ? '' : ` (moved to ${target})`}`,
    };
  }
  try {
    return { kind: 'json', json: await response.json() };
  } catch {
    return { kind: 'other', reason: `${address} does not answer with JSON` };
  }
}

/** undici says only "fetch failed"; the reason is in its cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return causeOf(cause.errors[0]);
  return cause instanceof Error ? causeOf(cause) : error.message;
}

const props = z.object({ default_generation_settings: z.object({ n_ctx: z.int().positive() }) });

/** llama.cpp lists what a model was trained for; what this server was started with is in /props. */
async function llamacppWindow(
  base: string,
  options: { readonly key?: string; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const answer = await ask(`${new URL(base).origin}/props`, options);
  const parsed = props.safeParse(answer.kind === 'json' ? answer.json : undefined);
  return parsed.success ? parsed.data.default_generation_settings.n_ctx : undefined;
}
