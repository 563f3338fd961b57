/** The engine behind a deployment of LiteLLM, as the spec of a Backend. */
import type { EngineName } from '../../core/engine-name.ts';
import type { Deployment } from './read-config.ts';

interface Provider {
  readonly engine: EngineName;
  /** Where LiteLLM looks without `api_base`. */
  readonly base?: string;
  /** The variable from which LiteLLM takes the key without `api_key`. */
  readonly key?: string;
}

const compatible = (base: string, key: string): Provider => ({ engine: 'openai', base, key });
const ollama: Provider = { engine: 'ollama', base: 'http://127.0.0.1:11434/v1' };

/** By the part of `model` before its first slash. Those in the public wire format have the engine `openai`. */
const providers: Readonly<Record<string, Provider>> = {
  openai: compatible('https://api.openai.com/v1', 'OPENAI_API_KEY'),
  azure: { engine: 'openai', key: 'AZURE_API_KEY' },
  hosted_vllm: { engine: 'vllm' },
  vllm: { engine: 'vllm' },
  llamafile: { engine: 'llamacpp', base: 'http://127.0.0.1:8080/v1' },
  ollama,
  ollama_chat: ollama,
  huggingface: { engine: 'tgi' },
  deepseek: { engine: 'deepseek', base: 'https://api.deepseek.com/v1', key: 'DEEPSEEK_API_KEY' },
  dashscope: {
    ...{
      engine: 'dashscope',
      base: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
      key: 'DASHSCOPE_API_KEY',
    },
  },
  moonshot: { engine: 'moonshot', base: 'https://api.moonshot.ai/v1', key: 'MOONSHOT_API_KEY' },
  zai: { engine: 'zai', base: 'https://api.z.ai/api/paas/v4', key: 'ZAI_API_KEY' },
  fireworks_ai: { engine: 'fireworks', base: 'https://api.fireworks.ai/inference/v1', key: 'FIREWORKS_AI_API_KEY' },
  together_ai: { engine: 'together', base: 'https://api.together.xyz/v1', key: 'TOGETHERAI_API_KEY' },
  custom_openai: { engine: 'openai' },
  openai_like: { engine: 'openai' },
  litellm_proxy: { engine: 'openai', key: 'LITELLM_PROXY_API_KEY' },
  lm_studio: { engine: 'openai', base: 'http://127.0.0.1:1234/v1' },
  xinference: { engine: 'openai', base: 'http://127.0.0.1:9997/v1' },
  groq: compatible('https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  mistral: compatible('https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  codestral: compatible('https://codestral.mistral.ai/v1', 'CODESTRAL_API_KEY'),
  openrouter: compatible('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  xai: compatible('https://api.x.ai/v1', 'XAI_API_KEY'),
  gemini: compatible('https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  perplexity: compatible('https://api.perplexity.ai', 'PERPLEXITYAI_API_KEY'),
  cerebras: compatible('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  deepinfra: compatible('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  nvidia_nim: compatible('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  sambanova: compatible('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  novita: compatible('https://api.novita.ai/v3/openai', 'NOVITA_API_KEY'),
  hyperbolic: compatible('https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY'),
  nebius: compatible('https://api.studio.nebius.ai/v1', 'NEBIUS_API_KEY'),
  nscale: compatible('https://inference.api.nscale.com/v1', 'NSCALE_API_KEY'),
  lambda_ai: compatible('https://api.lambda.ai/v1', 'LAMBDA_API_KEY'),
  featherless_ai: compatible('https://api.featherless.ai/v1', 'FEATHERLESS_AI_API_KEY'),
  volcengine: compatible('https://ark.cn-beijing.volces.com/api/v3', 'VOLCENGINE_API_KEY'),
  meta_llama: compatible('https://api.llama.com/compat/v1', 'LLAMA_API_KEY'),
  minimax: compatible('https://api.minimax.io/v1', 'MINIMAX_API_KEY'),
  vercel_ai_gateway: compatible('https://ai-gateway.vercel.sh/v1', 'VERCEL_AI_GATEWAY_API_KEY'),
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
  readonly secrets: readonly SecretReference[];
  /** The variable with a key that LiteLLM would send here, and the Backend does not. */
  readonly missingKey: string | undefined;
}

/** At most as long as the name of an object may be, with room for a number. */
export const slug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 200)
    .replaceAll(/^-+|-+$/g, '');

/** Returns a sentence when there is no engine of this kind in Weir. */
export function makeUpstream({ litellm_params: params, model_info: info }: Deployment): ConvertedDeployment | string {
  if (info.mode !== undefined && info.mode !== 'chat') return `Weir serves chat, not ${info.mode}`;
  const { provider, model } = namesIn(params);
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (known === undefined) return `Weir has no engine for the provider "${provider}"`;
  const base = params.api_base ?? params.base_url ?? known.base;
  if (model.includes('*')) return 'a Model names one model; write one entry for each';
  if (base === undefined) return 'it has no api_base';
  if (base.startsWith('os.environ/')) return `write the address instead of ${base}`;
  const url = URL.parse(base);
  if (url === null || !/^https?:$/.test(url.protocol)) return `api_base is not an http address: ${base}`;
  const secure = url.protocol === 'https:';
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  const isOwn = known.base === base && secure;
  // The key of a provider is not sent to another address than its own.
  const secret = secretOf(params.api_key ?? (isOwn || known.base === undefined ? keyOf(known) : undefined), host);
  const most = params.max_parallel_requests;
  const headers = named(params.extra_headers ?? {}, host);
  const version = params.api_version ?? (provider === 'azure' ? azureVersion : undefined);
  const query = [
    ...(version === undefined || provider !== 'azure' ? [] : [{ name: 'api-version', value: version }]),
    ...named(Object.fromEntries([...url.searchParams].filter(([name]) => name !== 'api-version')), host),
  ];
  const isAzure = provider === 'azure';
  return {
    ...{ model, host, owner: isOwn ? provider : undefined },
    secrets: [secret, ...[...headers, ...query].map((one) => ('secretRef' in one ? one.secretRef : undefined))].filter(
      (one) => one !== undefined,
    ),
    missingKey: params.api_key === undefined && secret === undefined ? known.key : undefined,
    spec: {
      engine: known.engine,
      endpoint: {
        ...{ host, port: Number(url.port === '' ? (secure ? 443 : 80) : url.port) },
        path: pathOf(url, { known, deployment: isAzure ? model : undefined }),
      },
      tls: secure ? { mode: 'System' } : undefined,
      credentials: secret && { secretRef: secret, header: isAzure ? 'api-key' : undefined },
      headers: headers.length === 0 ? undefined : headers,
      query: query.length === 0 ? undefined : query,
      requests: defaultsOf(params),
      capacity: most === undefined || most < 1 ? undefined : { maxConcurrentRequests: Math.trunc(most) },
    },
  };
}

/** The version of Azure's API that LiteLLM takes where none is given. */
const azureVersion = '2024-10-21';

/** A bare name of LiteLLM is one of its list of known models. */
function namesIn({ model: name, custom_llm_provider: own }: Deployment['litellm_params']) {
  const slash = name.indexOf('/');
  if (own !== undefined)
    return { provider: own, model: name.startsWith(`${own}/`) ? name.slice(own.length + 1) : name };
  return slash < 0
    ? { provider: bareProvider(name), model: name }
    : { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

const bareProvider = (name: string): string =>
  /^(claude|gemini|command|titan|jurassic)/.exec(name)?.[1]?.replace('claude', 'anthropic') ?? 'openai';

const keyOf = ({ key }: Provider): string | undefined => (key === undefined ? undefined : `os.environ/${key}`);

function pathOf(
  { pathname }: URL,
  { known, deployment }: { readonly known: Provider; readonly deployment: string | undefined },
): string {
  const path = pathname.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (deployment !== undefined && !/\/(deployments|v1)(\/|$)/.test(path))
    return `${path}/openai/deployments/${deployment}`;
  return known.engine === 'ollama' && path === '' ? '/v1' : path === '' ? '/' : path;
}

/** Values by name, as a list of a Backend. Any of them may be a key, so each is a Secret. */
function named(values: Readonly<Record<string, string>>, host: string) {
  return Object.entries(values).map(([name, value]) => {
    const variable = /^os\.environ\/(.+)$/.exec(value)?.[1];
    return { name, secretRef: { name: slug(variable ?? `${host}-${name}`) || 'value', key: 'token' } };
  });
}

/** What LiteLLM adds to each request that does not say it itself. */
function defaultsOf({ temperature, top_p, max_tokens }: Deployment['litellm_params']): object | undefined {
  const defaults = { temperature, top_p, max_tokens };
  return Object.values(defaults).every((value) => value === undefined) ? undefined : { defaults };
}

/** Servers without a key take any word, and configurations have one of these. */
const noKey = /^(|none|empty|dummy|not-needed)$/i;

function secretOf(apiKey: string | undefined, host: string): SecretReference | undefined {
  if (apiKey === undefined || noKey.test(apiKey)) return undefined;
  const variable = /^os\.environ\/(.+)$/.exec(apiKey)?.[1];
  return { name: slug(variable ?? host) || 'key', key: 'token' };
}
