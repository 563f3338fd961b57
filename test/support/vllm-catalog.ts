import { endings } from './vllm.ts';

/** Manifests of the model `test/tiny` on vLLM servers, each a Backend of its own. Prices in whole micro-dollars make bills easy to check. */
export function vllmManifests(
  servers: readonly { readonly port: number }[],
  { capabilities = '', modalities = '[text]' }: { readonly capabilities?: string; readonly modalities?: string } = {},
): string {
  const backends = servers.map(
    ({ port }, index) => `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: vllm-${index}}
spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}}
---`,
  );
  const routes = servers.map(
    (_, index) => `{backend: vllm-${index}, upstreamModel: tiny, capabilities: {${capabilities}}}`,
  );
  return `${backends.join('')}
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: tiny}
spec:
  id: test/tiny
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: 2048
  inputModalities: ${modalities}
  pricing: {prompt: "0.000001", completion: "0.000002", inputCacheRead: "0.0000001"}
  reasoning: {mode: Optional, efforts: [low, medium, high, max]}
  hedging: {mode: Disabled}
  routes: [${routes.join(', ')}]
`;
}

/** A chat request. The ending of its message chooses what the model says. */
export const askTiny = (more: object = {}, ending: keyof typeof endings | 'tide' = 'tide') => ({
  model: 'test/tiny',
  messages: [{ role: 'user' as const, content: `say what you know ${ending === 'tide' ? 'please' : endings[ending]}` }],
  max_tokens: 32,
  temperature: 0,
  reasoning_effort: 'none' as const,
  ...more,
});

export const getWeather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of the next days.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Paris', 'Rome'] }, days: { type: 'integer', enum: [3, 5] } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
};
