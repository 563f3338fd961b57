import { goodBackendSpec, goodModelSpec } from '../../support/catalog-objects.ts';

/** A spec that says something in every field that may stand beside the others. */
export const fullBackendSpec = {
  ...goodBackendSpec,
  tls: {
    ...{ mode: 'Custom', caSecretRef: { name: 'ca', key: 'pem' }, serverName: 'engine.example.com' },
    clientCertificateSecretRef: { name: 'vllm-a-client' },
  },
  credentials: { secretRef: { name: 'vllm-a', key: 'token' }, header: 'api-key', scheme: 'None' },
  headers: [
    { name: 'x-org', value: 'team-a' },
    { name: 'x-secret', secretRef: { name: 'vllm-a', key: 'token' } },
  ],
  query: [
    { name: 'api-version', value: '2024-10-21' },
    { name: 'key', secretRef: { name: 'vllm-a', key: 'token' } },
  ],
  host: 'llm.example.com',
  timeouts: { firstOutputSeconds: 600, idleSeconds: 60 },
  requests: {
    defaults: {
      ...{ temperature: 0.6, top_p: 0.95, top_k: 20, min_p: 0.05, repetition_penalty: 1.05 },
      ...{ frequency_penalty: 0.2, presence_penalty: 0.2, max_tokens: 8192, reasoning_effort: 'low' },
    },
    bounds: { temperature: 1, max_tokens: 16_384, reasoning_effort: 'medium' },
  },
  capacity: { maxConcurrentRequests: 64, maxConcurrentRequestsPerEndpoint: 8 },
  healthCheck: { path: '/health', intervalSeconds: 5 },
};

/** The three other ways to say where the engines are. */
export const listBackendSpec = {
  engine: 'vllm',
  endpoints: [
    { host: 'vllm-a-0.models.svc', port: 8000 },
    { host: 'vllm-a-1.models.svc', port: 8000 },
  ],
  path: '/v1',
  proxy: {
    ...{ host: 'proxy.example.com', port: 3128 },
    credentials: { secretRef: { name: 'vllm-a', key: 'token' } },
  },
};
export const serviceBackendSpec = {
  engine: 'vllm',
  service: { name: 'vllm-a', port: 'http' },
  path: '/v1',
  tls: { mode: 'System', serverName: 'engine.example.com' },
};

export const poolBackendSpec = { engine: 'vllm', inferencePool: { name: 'vllm-qwen3-8b' }, path: '/v1' };

export const fullModelSpec = {
  ...goodModelSpec,
  aliases: ['gpt-4o', 'old-org/old-name'],
  inputModalities: ['text', 'image'],
  reasoning: { mode: 'Optional', efforts: ['low', 'high'] },
  tokenizer: { path: 'qwen3-8b', tokensPerImage: 256 },
  serviceLevel: { minAvailability: '0.99', windowSeconds: 900, firstTokenSeconds: 10 },
  hedging: { mode: 'Auto' },
  cacheSharing: 'All',
  retireAt: '2027-01-31T00:00:00Z',
  routes: [
    {
      ...{ backend: 'vllm-a', upstreamModel: 'Qwen/Qwen3-8B', weight: 100 },
      capabilities: {
        ...{ tools: true, streamedTools: false, toolChoice: ['auto', 'none'], parameters: ['stop', 'seed'] },
        ...{ responseFormats: ['json_object'], streamedResponseFormats: ['json_object'] },
        conflicts: [['tools', 'response_format']],
        reasoning: { off: true, efforts: ['low'], budget: false },
        inlineReasoning: { tags: ['think'], pairs: [{ open: '<a>', close: '</a>' }], implicitOpen: true },
        ...{ continuation: true, continuationMark: 'prefix' },
      },
    },
    { backend: 'vllm-b', upstreamModel: 'q' },
  ],
};

const { pricing: _, ...ofAnyKind } = goodModelSpec;

/** Models of the other kinds. */
export const embeddingModelSpec = {
  ...ofAnyKind,
  kind: 'Embedding',
  pricing: { prompt: '0.00000015' },
  embedding: {
    ...{ dimensions: 1024, shorterDimensions: [256, 512], maxInputs: 32 },
    ...{ minSimilarity: '0.99', tokenIds: true },
  },
};

export const rerankModelSpec = {
  ...ofAnyKind,
  kind: 'Rerank',
  pricing: { prompt: '0.00000015', completion: '0' },
  rerank: { maxDocuments: 32 },
};

export const fullWorkspaceSpec = {
  maxInFlight: 64,
  status: 'Active',
  creditLimit: '500',
  labels: { team: 'search' },
  thresholds: [75, 90],
  tokensPerMinute: 1_000_000,
  tagTokensPerMinute: { 'team=search': 60_000 },
  notEnforced: ['workspace-tokens'],
};

export const fullApiKeySpec = {
  workspace: 'search-team',
  secretRef: { name: 'search-prod-key' },
  status: 'Active',
  budget: { usd: '200', period: 'Month', thresholds: [50, 80, 100] },
  rate: { perSecond: 100, burst: 200 },
  tokensPerMinute: 60_000,
  notEnforced: ['tokens'],
  models: ['qwen/*'],
  expiresAt: '2027-06-30T00:00:00Z',
  rotation: { everyDays: 90, overlapHours: 24 },
};

export const fullIdentitySpec = {
  issuer: 'cluster',
  audience: 'weir',
  match: ['claims["kubernetes.io"].namespace == "search"'],
  workspace: 'search-team',
  each: 'Subject',
  tags: { app: 'claims.sub' },
  bound: true,
  status: 'Active',
  budget: { usd: '200', period: 'Month' },
  rate: { perSecond: 100, burst: 200 },
  tokensPerMinute: 60_000,
  notEnforced: ['tokens'],
  models: ['qwen/*'],
};

export const fullCreditSpec = { workspace: 'search-team', usd: '25', note: 'order 8' };
