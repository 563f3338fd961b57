import type { EngineName } from '../../core/engine-name.ts';
import { declaredContextLength, type EngineModel, readModelList, windowInProps } from '../../core/model-list.ts';
import { type Refusal, refusal } from '../../books/core/operator-refusals.ts';

/** An engine, as it describes itself. */
export type ProbedEngine = Awaited<ReturnType<typeof probeUpstream>>;

interface AskOptions {
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  /** The beginning of messages. Default `--upstream`. */
  readonly subject?: string;
  /** Name of the flag for the key. Default `--upstream-key`. */
  readonly keyFlag?: string;
}

const timeoutMs = 15_000;

const usualSubject = '--upstream';

/**
 * Asks an engine for its models, at `<url>/models` and at `<url>/v1/models`.
 * Throws a Refusal with the reason when it is unreachable, refuses the key or does not answer with a model list.
 */
export async function probeUpstream(url: URL, options: AskOptions) {
  const reasons: string[] = [];
  const { subject = usualSubject } = options;
  for (const base of basesOf(url)) {
    const answer = await ask(`${base}/models`, options);
    if (answer.kind === 'refused') throw answer.refusal;
    if (answer.kind === 'other') {
      reasons.push(answer.reason);
      continue;
    }
    const entries = readModelList(answer.json);
    if (entries === undefined) {
      reasons.push(`${base}/models answers with something that is not a model list`);
      continue;
    }
    if (entries.length === 0) throw refusal('upstream_without_models', { subject, address: `${base}/models` });
    const engine = guessEngine(url.hostname, entries);
    const measured = engine === 'llamacpp' ? await llamacppWindow(base, options) : undefined;
    return {
      engine,
      /** The address before `/models` and `/chat/completions`. */
      base: new URL(base),
      entries: measured === undefined ? entries : entries.map((entry) => ({ ...entry, max_model_len: measured })),
    };
  }
  throw refusal('upstream_not_understood', { subject, reasons: reasons.join('; ') });
}

/** The base addresses that a typed address can mean: without `/v1`, or with `/models` or `/chat/completions` at its end. */
function basesOf(url: URL): readonly string[] {
  const path = url.pathname.replace(/\/+$/, '').replace(/\/(models|chat\/completions)$/, '');
  const plain = `${url.origin}${path}`;
  return /\/v\d+[a-z0-9]*$/.test(path) ? [plain] : [`${plain}/v1`, plain];
}

type Answer =
  | { readonly kind: 'json'; readonly json: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'other'; readonly reason: string };

async function ask(address: string, options: AskOptions): Promise<Answer> {
  const { subject = usualSubject, keyFlag = '--upstream-key' } = options;
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
    return {
      kind: 'refused',
      refusal: refusal('upstream_not_reached', { subject, address, reason: causeOf(error) }),
    };
  }
  const { status } = response;
  if (status === 401 || status === 403) {
    await response.body?.cancel();
    const reason =
      options.key === undefined ? `asks for a key; give it with ${keyFlag}` : `refuses the key of ${keyFlag}`;
    return { kind: 'refused', refusal: refusal('upstream_key_refused', { subject, address, reason, status }) };
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

/** undici's message is only "fetch failed"; the reason is in its cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return causeOf(cause.errors[0]);
  return cause instanceof Error ? causeOf(cause) : error.message;
}

async function llamacppWindow(base: string, options: AskOptions): Promise<number | undefined> {
  const answer = await ask(`${new URL(base).origin}/props`, options);
  return answer.kind === 'json' ? windowInProps(answer.json) : undefined;
}

const enginesByOwner: Readonly<Record<string, EngineName>> = {
  llamacpp: 'llamacpp',
  vllm: 'vllm',
  sglang: 'sglang',
  library: 'ollama',
  deepseek: 'deepseek',
  moonshot: 'moonshot',
};

const enginesByHost: readonly (readonly [RegExp, EngineName])[] = [
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)aliyuncs\.com$/, 'dashscope'],
  [/(^|\.)moonshot\.(ai|cn)$/, 'moonshot'],
  [/(^|\.)(z\.ai|bigmodel\.cn)$/, 'zai'],
  [/(^|\.)fireworks\.ai$/, 'fireworks'],
  [/(^|\.)together\.(ai|xyz)$/, 'together'],
];

/** Guesses the engine from its list; without a hint it is `openai`, the plain form. */
export function guessEngine(host: string, entries: readonly EngineModel[]): EngineName {
  const byHost = enginesByHost.find(([pattern]) => pattern.test(host));
  if (byHost !== undefined) return byHost[1];
  for (const { owned_by: owner = '' } of entries) {
    const engine = Object.hasOwn(enginesByOwner, owner) ? enginesByOwner[owner] : undefined;
    if (engine !== undefined) return engine;
  }
  if (entries.some(({ meta }) => meta?.n_ctx_train !== undefined)) return 'llamacpp';
  return entries.some(({ max_model_len: length }) => length !== undefined) ? 'vllm' : 'openai';
}

const assumedContextLength = 131_072;

/** The context window that the engine declares, or an assumption. */
export const contextLengthOf = (one: EngineModel): number => declaredContextLength(one) ?? assumedContextLength;
