/** The engine behind a deployment of LiteLLM, as the spec of a Backend. */
import type { EngineName } from '../../core/engine-name.ts';
import type { Deployment } from './read-config.ts';

interface Provider {
  readonly engine: EngineName;
  /** Where LiteLLM looks without `api_base`. */
  readonly base: string | undefined;
}

const local = (engine: EngineName, base?: string): Provider => ({ engine, base });

/** By the part of `model` before its first slash. */
const providers: Readonly<Record<string, Provider>> = {
  openai: { engine: 'openai', base: 'https://api.openai.com/v1' },
  hosted_vllm: local('vllm'),
  vllm: local('vllm'),
  llamafile: local('llamacpp', 'http://127.0.0.1:8080/v1'),
  ...{
    ollama: local('ollama', 'http://127.0.0.1:11434/v1'),
    ollama_chat: local('ollama', 'http://127.0.0.1:11434/v1'),
  },
  huggingface: local('tgi'),
  deepseek: { engine: 'deepseek', base: 'https://api.deepseek.com/v1' },
  dashscope: { engine: 'dashscope', base: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
  moonshot: { engine: 'moonshot', base: 'https://api.moonshot.ai/v1' },
  zai: { engine: 'zai', base: 'https://api.z.ai/api/paas/v4' },
  fireworks_ai: { engine: 'fireworks', base: 'https://api.fireworks.ai/inference/v1' },
  together_ai: { engine: 'together', base: 'https://api.together.xyz/v1' },
};

export interface SecretReference {
  readonly name: string;
  readonly key: string;
}

export interface ConvertedDeployment {
  /** Whose models these are; undefined for a server of one's own. */
  readonly owner: string | undefined;
  readonly model: string;
  readonly host: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly secret: SecretReference | undefined;
}

export const slug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');

/** Returns a sentence when there is no engine of this kind in Weir. */
export function makeUpstream({ litellm_params: params, model_info: info }: Deployment): ConvertedDeployment | string {
  if (info.mode !== undefined && info.mode !== 'chat') return `Weir serves chat, not ${info.mode}`;
  const slash = params.model.indexOf('/');
  // A bare name of LiteLLM is one of its list of known models.
  const provider = slash < 0 ? 'openai' : params.model.slice(0, slash);
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (known === undefined) return `Weir has no engine for the provider "${provider}"`;
  const model = params.model.slice(slash + 1);
  const base = params.api_base ?? params.base_url ?? known.base;
  if (model.includes('*')) return 'a Model names one model; write one entry for each';
  if (base === undefined) return 'it has no api_base';
  if (base.startsWith('os.environ/')) return `write the address in place of ${base}`;
  const url = URL.parse(base);
  if (url === null || !/^https?:$/.test(url.protocol)) return `api_base is no http address: ${base}`;
  const secure = url.protocol === 'https:';
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  const secret = secretOf(params.api_key, host);
  const path = known.engine === 'ollama' && url.pathname === '/' ? '/v1' : url.pathname;
  const most = params.max_parallel_requests;
  return {
    model,
    host,
    secret,
    owner: known.base === base && secure ? provider : undefined,
    spec: {
      engine: known.engine,
      endpoint: { host, port: Number(url.port === '' ? (secure ? 443 : 80) : url.port), path },
      tls: secure ? { mode: 'System' } : undefined,
      credentials: secret && { secretRef: secret },
      capacity: most === undefined || most < 1 ? undefined : { maxConcurrentRequests: Math.trunc(most) },
    },
  };
}

/** Servers without a key take any word, and configurations have one of these. */
const noKey = /^(|none|empty|dummy|not-needed)$/i;

function secretOf(apiKey: string | undefined, host: string): SecretReference | undefined {
  if (apiKey === undefined || noKey.test(apiKey)) return undefined;
  const variable = /^os\.environ\/(.+)$/.exec(apiKey)?.[1];
  return { name: slug(variable ?? host), key: 'token' };
}
