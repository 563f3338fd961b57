import * as z from 'zod';
import { authorityOf } from '../../core/endpoint.ts';
import { parseJson } from '../../core/json.ts';
import { readModelList } from '../../core/model-list.ts';

// With `import`, Node loads its `fetch`, too (docs/decisions/0100).
const { request } = process.getBuiltinModule('node:http');

/** An engine program, the port that it listens on unless told otherwise, and a question that only it answers in this way. */
export interface UsualEngine {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  /** Whether this JSON is its answer. Another program may have the port, such as Weir itself on 8080. */
  readonly recognises: (json: unknown) => boolean;
}

/** A model with its digest. llama-server copies this list, without digests. */
const ollamaTags = z.object({ models: z.array(z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/) })).min(1) });
const llamaProps = z.object({ default_generation_settings: z.object({ n_ctx: z.int() }), model_path: z.string() });
/** Weir's own list of models has no `max_model_len`, whatever its models are owned by. */
const listsModelsOf =
  (owner: string) =>
  (json: unknown): boolean =>
    readModelList(json)?.some((model) => model.owned_by === owner && model.max_model_len !== undefined) === true;

export const usualEngines: readonly UsualEngine[] = [
  { name: 'Ollama', port: 11_434, path: '/api/tags', recognises: (json) => ollamaTags.safeParse(json).success },
  { name: 'llama-server', port: 8080, path: '/props', recognises: (json) => llamaProps.safeParse(json).success },
  { name: 'vLLM', port: 8000, path: '/v1/models', recognises: listsModelsOf('vllm') },
  { name: 'SGLang', port: 30_000, path: '/v1/models', recognises: listsModelsOf('sglang') },
];

/** An engine that answers on this machine. */
interface FoundEngine {
  readonly name: string;
  /** `http://127.0.0.1:11434` */
  readonly url: string;
}

export type EngineSearch = ReturnType<typeof searchEngines>;

const loopback = ['127.0.0.1', '::1'] as const;
const timeoutMs = 5_000;
/** An answer of Ollama has 500 bytes for each model. */
const maxAnswerChars = 1_000_000;

/**
 * Asks the usual ports of the loopback addresses for engines, and nothing else. Returns at once: the start waits for no
 * answer. `ownPort`: the port of this gateway, which is not asked.
 */
export function searchEngines(engines: readonly UsualEngine[], ownPort: number) {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(timeoutMs)]);
  const places = engines.flatMap(({ port, ...engine }) => loopback.map((host) => ({ ...engine, host, port })));
  const answered = new Set<(typeof places)[number]>();
  for (const place of places) {
    if (place.port === ownPort) continue;
    void askForJson(place, signal).then((json) => {
      if (place.recognises(json)) answered.add(place);
    });
  }
  return {
    /** The engines that have answered so far. */
    found: (): readonly FoundEngine[] =>
      engines.flatMap(({ name }) => {
        const place = places.find((one) => one.name === name && answered.has(one));
        return place === undefined ? [] : [{ name, url: `http://${authorityOf(place, 'http')}` }];
      }),
    /** Ends the questions that are still open. */
    end: (): void => over.abort(),
  };
}

/** Undefined: nothing answers in time with JSON, status 200 and a length within the limit. Follows no redirect. */
function askForJson(
  { host, port, path }: { readonly host: string; readonly port: number; readonly path: string },
  signal: AbortSignal,
): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const question = request({ host, port, path, agent: false, signal });
  const giveUp = (): void => {
    resolve(undefined);
    question.destroy();
  };
  question.on('error', giveUp).on('close', giveUp);
  question.on('response', (response) => {
    if (response.statusCode !== 200) return giveUp();
    let text = '';
    response.setEncoding('utf8').on('error', giveUp);
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > maxAnswerChars) giveUp();
    });
    return response.on('end', () => resolve(parseJson(text)));
  });
  question.end();
  return promise;
}

/** What can be served in place of the demo, and the command that does it. */
export interface ServeCommand {
  readonly name: string;
  readonly command: string;
}

/**
 * The commands that serve the engines that were found, and the hosted one that the environment names. They repeat the
 * arguments of this start, and name the variable of a key instead of the key. `baseUrl`: of this gateway, which clients
 * may have in the same variables.
 */
export function serveCommands(
  found: readonly FoundEngine[],
  {
    argv,
    env,
    baseUrl,
  }: { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv; readonly baseUrl: string },
): readonly ServeCommand[] {
  const start = ['npm start --', ...argv.map(quoted), '--upstream'].join(' ');
  const local = found.map(({ name, url }) => ({ name, command: `${start} ${url}` }));
  const { OPENAI_API_KEY: key = '', OPENAI_BASE_URL: url = '' } = env;
  if (key === '' || key.startsWith('sk-weir-') || !isUpstream(url, baseUrl)) return local;
  const hosted = `WEIR_UPSTREAM_KEY="$OPENAI_API_KEY" ${start} "$OPENAI_BASE_URL"`;
  return [...local, { name: 'OPENAI_BASE_URL', command: hosted }];
}

/** Whether `--upstream` accepts the address, and it is not that of this gateway. */
function isUpstream(text: string, baseUrl: string): boolean {
  const [url, own] = [URL.parse(text), new URL(baseUrl)];
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  const isOwn = url.port === own.port && [own.hostname, 'localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.username === '' && url.password === '' && !isOwn;
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
