import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { checkManifests } from '../../control/reconcilers/check-manifests.ts';
import { type Conversion, convertConfig } from './convert-config.ts';
import { findConfig } from './find-config.ts';

const added = '2026-06-01T00:00:00Z';

const pool = `
model_list:
  - model_name: qwen3-8b
    litellm_params: {model: hosted_vllm/Qwen/Qwen3-8B, api_base: "http://vllm-a:8000/v1", rpm: 600, tpm: 100000}
    model_info: {id: a, max_input_tokens: 40960, input_cost_per_token: 1.5e-7, output_cost_per_token: 0.0000006}
  - model_name: qwen3-8b
    litellm_params: {model: hosted_vllm/Qwen/Qwen3-8B, api_base: "http://vllm-b:8000/v1", rpm: 200, timeout: 30}
  - model_name: qwen3-8b
    litellm_params: {model: openai/qwen3-8b, api_base: "https://engines.example.com/v1", api_key: os.environ/ENGINES_KEY, rpm: 100, order: 2}
router_settings:
  routing_strategy: simple-shuffle
  num_retries: 2
  model_group_alias: {gpt-3.5-turbo: qwen3-8b, lost: nowhere, old: {model: qwen3-8b, hidden: true}}
`;
const providers = `
model_list:
  - model_name: deepseek/deepseek-chat
    litellm_params: {model: deepseek/deepseek-chat, api_key: os.environ/DEEPSEEK_API_KEY, input_cost_per_token: 0.00000027, output_cost_per_token: 0.0000011, cache_read_input_token_cost: 7e-8}
    model_info: {max_input_tokens: 131072}
  - model_name: GPT-4o Mini
    litellm_params: {model: gpt-4o-mini, api_key: sk-secret-canary}
    model_info: {supports_vision: true, supports_function_calling: false, max_input_tokens: 128000, input_cost_per_token: 1.5e-7, output_cost_per_token: 6e-7}
  - model_name: claude
    litellm_params: {model: anthropic/claude, api_key: os.environ/ANTHROPIC_API_KEY}
  - model_name: "openai/*"
    litellm_params: {model: "openai/*", api_key: os.environ/OPENAI_API_KEY}
  - model_name: embed
    litellm_params: {model: openai/embed}
    model_info: {mode: embedding}
litellm_settings:
  drop_params: true
  fallbacks: [{claude: [deepseek/deepseek-chat]}]
  cache_params: {type: redis, host: os.environ/REDIS_HOST}
general_settings: {master_key: sk-1234, database_url: "postgresql://db"}
environment_variables: {LANG: C}
`;
const home = `
model_list:
  - model_name: llama3.2
    litellm_params: {model: ollama_chat/llama3.2, api_base: "http://localhost:11434", api_key: none, max_parallel_requests: 4}
  - model_name: llama3.2-long
    litellm_params: {model: ollama_chat/llama3.2, api_base: "http://localhost:11434", max_parallel_requests: 4}
    model_info: {supports_reasoning: true}
  - model_name: both
    litellm_params: {model: ollama/llama3.2, api_base: "http://localhost:11434", weight: 0.9}
  - model_name: both
    litellm_params: {model: ollama/qwen3, api_base: "http://localhost:11434", weight: 0.1}
`;

const differing = `
model_list:
  - model_name: small
    litellm_params: {model: hosted_vllm/small, api_base: "http://vllm:8000/v1", rpm: 10}
    model_info: {max_input_tokens: 40960, input_cost_per_token: 1e-7, output_cost_per_token: 1.23456789e-10}
  - model_name: small
    litellm_params: {model: hosted_vllm/small, api_base: "http://other:8000/v1", rpm: 30, input_cost_per_token: 2e-7}
    model_info: {max_input_tokens: 32768}
  - model_name: large
    litellm_params: {model: deepseek/deepseek-chat, api_key: os.environ/DEEPSEEK_API_KEY}
    model_info: {max_input_tokens: 65536, input_cost_per_token: 1, output_cost_per_token: 1}
router_settings:
  model_group_alias: {Tiny!: small, chat: small, CHAT: large}
  fallbacks: [{small: [large]}]
litellm_settings:
  fallbacks: [{large: [small, nowhere]}]
`;

const convert = (text: string): Conversion => convertConfig(findConfig(text).config, added);

/** The problems that `weir catalog check` has with the manifests, beside the Secrets that it names. */
async function problemsOf({ objects, secrets }: Conversion): Promise<readonly unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-litellm-'));
  try {
    const made = secrets.map(({ name, key }) => ({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name } },
      stringData: { [key]: 'x' },
    }));
    await writeFile(join(folder, 'all.yaml'), [...made, ...objects].map((object) => stringify(object)).join('---\n'));
    const { problems, snapshot } = await checkManifests(folder, 'refused');
    expect(snapshot.models.size).toBeGreaterThan(0);
    return problems;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const manifest = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});
const specOf = ({ objects }: Conversion, kind: string, name: string): unknown =>
  objects
    .map((object) => manifest.parse(parse(stringify(object))))
    .find((one) => one.kind === kind && one.metadata.name === name)?.spec;

test.each(Object.entries({ pool, providers, home, differing }))(
  'weir catalog check has no problem with the manifests of %s',
  async (_, text) => {
    expect(await problemsOf(convert(text))).toEqual([]);
  },
);

test('deployments of one name are the routes of one Model, by their rpm, with a later order as standby', () => {
  expect(specOf(convert(pool), 'Model', 'qwen3-8b')).toEqual({
    ...{ id: 'qwen/qwen3-8b', ownedBy: 'qwen', added, contextLength: 40960 },
    aliases: ['qwen3-8b', 'gpt-3.5-turbo', 'old'],
    pricing: { prompt: '0.00000015', completion: '0.0000006' },
    routes: [
      { backend: 'vllm-a', upstreamModel: 'Qwen/Qwen3-8B', weight: 600 },
      { backend: 'vllm-b', upstreamModel: 'Qwen/Qwen3-8B', weight: 200 },
      { backend: 'engines-example-com', upstreamModel: 'qwen3-8b', weight: 0 },
    ],
  });
});

test('an https address is TLS, and a key of the environment is a Secret of its name', () => {
  const conversion = convert(pool);
  expect(specOf(conversion, 'Backend', 'engines-example-com')).toEqual({
    engine: 'openai',
    endpoint: { host: 'engines.example.com', port: 443, path: '/v1' },
    tls: { mode: 'System' },
    credentials: { secretRef: { name: 'engines-key', key: 'token' } },
  });
  expect(conversion.secrets).toEqual([{ name: 'engines-key', key: 'token' }]);
});

test('a key in the file is copied nowhere', () => {
  expect(JSON.stringify(convert(providers))).not.toContain('canary');
});

test('images and tools that do not work are converted, and a name that Weir cannot have is reported', () => {
  const conversion = convert(providers);
  expect(specOf(conversion, 'Model', 'gpt-4o-mini')).toMatchObject({
    ...{ id: 'openai/gpt-4o-mini', inputModalities: ['text', 'image'] },
    routes: [{ capabilities: { tools: false } }],
  });
  expect(conversion.assumed).toEqual([
    { path: 'model_list[1].model_name', text: 'callers write gpt-4o-mini or openai/gpt-4o-mini' },
  ]);
});

test('models of one address share its Backend, and two models of one name have one each', () => {
  const conversion = convert(home);
  const routes = ['llama3-2', 'llama3-2-long', 'both'].map((name) => specOf(conversion, 'Model', name));
  expect(routes).toMatchObject([
    { routes: [{ backend: 'localhost' }] },
    { routes: [{ backend: 'localhost' }], reasoning: { mode: 'Optional' } },
    {
      routes: [
        { backend: 'localhost-2', weight: 1000 },
        { backend: 'localhost-3', weight: 111 },
      ],
    },
  ]);
  expect(specOf(conversion, 'Backend', 'localhost')).toMatchObject({
    ...{ endpoint: { host: 'localhost', port: 11_434, path: '/v1' }, capacity: { maxConcurrentRequests: 4 } },
  });
});

test('fallbacks are routes that serve when no other can, at the price of the name that was asked for', () => {
  const conversion = convert(differing);
  expect(specOf(conversion, 'Model', 'small')).toMatchObject({
    ...{ id: 'models/small', contextLength: 32768, pricing: { prompt: '0.0000001', completion: '0.000000000123' } },
    routes: [
      { backend: 'vllm', upstreamModel: 'small', weight: 10 },
      { backend: 'other', upstreamModel: 'small', weight: 30 },
      { backend: 'api-deepseek-com', upstreamModel: 'deepseek-chat', weight: 0 },
    ],
  });
  expect(specOf(conversion, 'Model', 'large')).toMatchObject({
    ...{ id: 'deepseek/large', contextLength: 65536, pricing: { prompt: '1', completion: '1' } },
    routes: [{ weight: 100 }, { backend: 'vllm', weight: 0 }, { backend: 'other', weight: 0 }],
  });
  expect(conversion.leftOut.map(({ path }) => path)).toContain('litellm_settings.fallbacks[0].large');
  expect(conversion.leftOut.map(({ path }) => path)).not.toContain('router_settings.fallbacks[0].small');
});

test('what deployments of one name have differently, a price with more decimals, and names that change are named', () => {
  expect(convert(differing).assumed).toEqual([
    {
      path: 'router_settings.model_group_alias.Tiny!',
      text: 'callers write tiny or models/small',
    },
    {
      path: 'model_list[1].litellm_params.input_cost_per_token',
      text: 'is 2e-7, and a Model has one; the price is 1e-7',
    },
    {
      path: 'model_list[0].model_info.output_cost_per_token',
      text: 'a price has 12 decimals at most; it is 0.000000000123',
    },
    {
      path: 'model_list[0].model_info.max_input_tokens',
      text: 'is 40960, and a Model has one; contextLength is 32768',
    },
    { path: 'router_settings.model_group_alias.CHAT', text: 'callers write chat or deepseek/large' },
    {
      path: 'router_settings.model_group_alias.CHAT',
      text: 'chat leads to small already; callers of this one write deepseek/large',
    },
  ]);
});

test('a missing price and a missing window are named', () => {
  expect(convert(home).assumed.map(({ path }) => path)).toEqual(
    [0, 1, 2].flatMap((index) => [
      `model_list[${index}].model_info`,
      `model_list[${index}].model_info.max_input_tokens`,
    ]),
  );
});

test.each([
  [
    pool,
    [
      'router_settings.model_group_alias.lost',
      'model_list[0].litellm_params.rpm',
      'model_list[0].litellm_params.tpm',
      'model_list[0].model_info.id',
      'model_list[1].litellm_params.rpm',
      'model_list[1].litellm_params.timeout',
      'model_list[2].litellm_params.rpm',
      'router_settings.routing_strategy',
      'router_settings.num_retries',
      'router_settings.model_group_alias.old.hidden',
    ],
  ],
  [
    providers,
    [
      'model_list[2]',
      'model_list[3]',
      'model_list[4]',
      'litellm_settings.drop_params',
      'litellm_settings.fallbacks[0].claude',
      'litellm_settings.cache_params.type',
      'litellm_settings.cache_params.host',
      'general_settings.master_key',
      'general_settings.database_url',
      'environment_variables.LANG',
    ],
  ],
  [home, []],
])('each key without a counterpart is named with its path (%#)', (text, paths) => {
  expect(convert(text).leftOut.map(({ path }) => path)).toEqual(paths);
});

test.each([
  ['a: 1', /model_list/],
  ['model_list: [{model_name: a, litellm_params: {}}]', /model_list\[0\]\.litellm_params\.model/],
  ['model_list: [{model_name: a, litellm_params: {model: bedrock/a}}]', /no engine for the provider "bedrock"/],
])('refuses %s', (text, message) => {
  expect(() => convert(text)).toThrow(message);
});

const one = (params: string, name = 'a'): string =>
  `model_list: [{model_name: "${name}", litellm_params: {${params}}}]`;
const backendsOf = ({ objects }: Conversion): readonly unknown[] =>
  objects
    .map((object) => manifest.parse(parse(stringify(object))))
    .flatMap(({ kind, spec }) => (kind === 'Backend' ? [spec] : []));

test.each([
  ['openai', 'https://api.openai.com/v1', 'openai-api-key'],
  ['groq', 'https://api.groq.com/openai/v1', 'groq-api-key'],
  ['mistral', 'https://api.mistral.ai/v1', 'mistral-api-key'],
  ['openrouter', 'https://openrouter.ai/api/v1', 'openrouter-api-key'],
  ['xai', 'https://api.x.ai/v1', 'xai-api-key'],
  ['gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', 'gemini-api-key'],
  ['perplexity', 'https://api.perplexity.ai/', 'perplexityai-api-key'],
  ['cerebras', 'https://api.cerebras.ai/v1', 'cerebras-api-key'],
  ['deepinfra', 'https://api.deepinfra.com/v1/openai', 'deepinfra-api-key'],
  ['nvidia_nim', 'https://integrate.api.nvidia.com/v1', 'nvidia-nim-api-key'],
  ['sambanova', 'https://api.sambanova.ai/v1', 'sambanova-api-key'],
  ['deepseek', 'https://api.deepseek.com/v1', 'deepseek-api-key'],
  ['fireworks_ai', 'https://api.fireworks.ai/inference/v1', 'fireworks-ai-api-key'],
  ['together_ai', 'https://api.together.xyz/v1', 'togetherai-api-key'],
])('%s without a key and an address has those that LiteLLM takes', async (provider, address, secret) => {
  const conversion = convert(one(`model: ${provider}/org/m`));
  const { hostname: host, pathname: path } = new URL(address);
  expect(backendsOf(conversion)).toMatchObject([
    { endpoint: { host, port: 443, path }, tls: { mode: 'System' }, credentials: { secretRef: { name: secret } } },
  ]);
  expect(conversion.secrets).toEqual([{ name: secret, key: 'token' }]);
  expect(await problemsOf(conversion)).toEqual([]);
});

test('the key of a provider is not sent to another address, and a line names it', () => {
  const conversion = convert(one('model: openai/m, api_base: "https://gateway.example.com/v1"'));
  expect(backendsOf(conversion)).toMatchObject([{ endpoint: { host: 'gateway.example.com' } }]);
  expect(conversion.secrets).toEqual([]);
  expect(conversion.assumed).toContainEqual({
    path: 'model_list[0].litellm_params.api_key',
    text: 'missing; LiteLLM sends OPENAI_API_KEY. If the address needs it, add credentials',
  });
});

test.each([
  ['lm_studio/qwen', { endpoint: { host: '127.0.0.1', port: 1234, path: '/v1' } }],
  [
    'litellm_proxy/qwen, api_base: "http://other:4000", api_key: os.environ/OTHER',
    {
      ...{ endpoint: { host: 'other', port: 4000, path: '/' }, credentials: { secretRef: { name: 'other' } } },
    },
  ],
  [
    'azure/gpt, api_base: "https://acme.openai.azure.com/", api_version: 2024-06-01',
    {
      endpoint: { host: 'acme.openai.azure.com', port: 443, path: '/openai/deployments/gpt' },
      credentials: { header: 'api-key', secretRef: { name: 'azure-api-key' } },
      query: [{ name: 'api-version', value: '2024-06-01' }],
    },
  ],
  [
    'openai/m, temperature: 0.2, max_tokens: 1_000, extra_headers: {x-org: sk-canary}',
    {
      requests: { defaults: { temperature: 0.2, max_tokens: 1000 } },
      headers: [{ name: 'x-org', secretRef: { name: 'api-openai-com-x-org', key: 'token' } }],
    },
  ],
])('converts model: %s', async (params, expected) => {
  const conversion = convert(one(`model: ${params}`));
  expect(backendsOf(conversion)).toMatchObject([expected]);
  expect(JSON.stringify(conversion)).not.toContain('canary');
  expect(await problemsOf(conversion)).toEqual([]);
});

test.each([
  ['qwen3:8b', ['qwen3:8b']],
  ['org/qwen3:8b', ['org/qwen3:8b']],
  ['deepseek-r1:free', ['deepseek-r1-free']],
  ['a:b:c', ['a-b-c']],
  ['模型', undefined],
])('callers write the name %s as %j', async (name, aliases) => {
  const conversion = convert(one('model: hosted_vllm/org/m, api_base: "http://vllm:8000/v1"', name));
  const [spec] = conversion.objects
    .map((object) => manifest.parse(parse(stringify(object))))
    .flatMap(({ kind, spec: of }) => (kind === 'Model' ? [of] : []));
  expect(spec?.['aliases']).toEqual(aliases);
  expect(await problemsOf(conversion)).toEqual([]);
});

test('a name that is the id of another Model is no alias', async () => {
  const conversion = convert(`
model_list:
  - {model_name: gpt-4o, litellm_params: {model: openai/gpt-4o}}
  - {model_name: openai/gpt-4o, litellm_params: {model: openai/gpt-4o}}`);
  expect(conversion.assumed.map(({ text }) => text)).toContain(
    'openai/gpt-4o is the id of another Model; callers of this one write openai/gpt-4o-2',
  );
  expect(await problemsOf(conversion)).toEqual([]);
});

test('reads YAML 1.1: merge keys, yes, and numbers with underscores', () => {
  const conversion = convert(`
defaults: &shared {api_base: "http://vllm:8000/v1", rpm: 1_000}
model_list:
  - model_name: a
    litellm_params: {<<: *shared, model: hosted_vllm/m}
    model_info: {supports_vision: yes, max_input_tokens: 40_960}
  - model_name: a
    litellm_params: {<<: *shared, model: hosted_vllm/m, api_base: "http://other:8000/v1", rpm: 2_000}`);
  expect(specOf(conversion, 'Model', 'a')).toMatchObject({
    ...{ inputModalities: ['text', 'image'], contextLength: 40_960 },
    routes: [
      { backend: 'vllm', weight: 1000 },
      { backend: 'other', weight: 2000 },
    ],
  });
});

const inside = `model_list: [{model_name: a, litellm_params: {model: hosted_vllm/m, api_base: "http://vllm:8000/v1"}}]`;
const indented = (spaces: number): string => `${' '.repeat(spaces)}${inside}`;
test.each([
  [
    'values of Helm',
    `replicaCount: 2\nproxy_config:\n${indented(2)}\nmasterkey: sk-canary\n`,
    ['replicaCount', 'masterkey'],
  ],
  [
    'values of a chart around it',
    `litellm:\n  db: {deployStandalone: false}\n  proxy_config:\n${indented(4)}\n`,
    ['litellm.db'],
  ],
  [
    'a ConfigMap',
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  config.yaml: |\n${indented(4)}\n  other: x\n`,
    ['data.other'],
  ],
  [
    'a ConfigMap beside a Deployment',
    `kind: Deployment\nmetadata: {name: d}\n---\nkind: ConfigMap\ndata:\n  config.yaml: |\n${indented(4)}\n`,
    ['Deployment/d'],
  ],
  ['a HelmRelease', `kind: HelmRelease\nspec:\n  values:\n    proxy_config:\n${indented(6)}\n`, []],
  ['nothing around it', inside, []],
])('finds the configuration in %s, and names what is around it', (_, text, around) => {
  const found = findConfig(text);
  expect(convertConfig(found.config, added).objects).toHaveLength(2);
  expect(found.around.map(({ path }) => path)).toEqual(around);
  expect(JSON.stringify(found.around)).not.toContain('canary');
});
