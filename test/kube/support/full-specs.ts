import { goodBackendSpec, goodModelSpec } from '../../support/catalog-objects.ts';

/** A spec that says something in every field that may stand beside the others. */
export const fullBackendSpec = {
  ...goodBackendSpec,
  tls: { mode: 'Custom', caSecretRef: { name: 'ca', key: 'pem' }, serverName: 'engine.example.com' },
  credentials: { secretRef: { name: 'vllm-a', key: 'token' } },
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
        inlineReasoning: { tags: ['think'], implicitOpen: true },
        ...{ continuation: true, continuationMark: 'prefix' },
      },
    },
    { backend: 'vllm-b', upstreamModel: 'q' },
  ],
};

export const fullWorkspaceSpec = {
  maxInFlight: 64,
  status: 'Active',
  creditLimit: '500',
  labels: { team: 'search' },
  thresholds: [75, 90],
};

export const fullApiKeySpec = {
  workspace: 'search-team',
  secretRef: { name: 'search-prod-key' },
  status: 'Active',
  budget: { usd: '200', period: 'Month', thresholds: [50, 80, 100] },
  rate: { perSecond: 100, burst: 200 },
  models: ['qwen/*'],
  expiresAt: '2027-06-30T00:00:00Z',
  rotation: { everyDays: 90, overlapHours: 24 },
};

export const fullCreditSpec = { workspace: 'search-team', usd: '25', note: 'order 8' };
