/** A Backend of one engine. */
export function retrievalBackend(name: string, engine: string, { port }: { readonly port: number }): string {
  return `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: ${name}}
spec: {engine: ${engine}, endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}}
---`;
}

/** A Model of vectors or of ranks over Backends. A token costs a millionth of a dollar, which makes bills easy to check. */
export function retrievalModel(
  id: string,
  kind: 'Embedding' | 'Rerank',
  options: {
    readonly backends: readonly string[];
    readonly upstreamModel: string;
    readonly contextLength: number;
    /** `embedding: {…}` or `rerank: {…}`, and what else the Model says, as lines of its spec. */
    readonly facts: string;
  },
): string {
  const routes = options.backends.map((backend) => `{backend: ${backend}, upstreamModel: ${options.upstreamModel}}`);
  return `
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: ${id.replace('/', '-')}}
spec:
  id: ${id}
  kind: ${kind}
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: ${options.contextLength}
  pricing: {prompt: "0.000001"}
  hedging: {mode: Disabled}
  ${options.facts}
  routes: [${routes.join(', ')}]
---`;
}

/** The body of an embeddings answer, of an engine or of Weir. */
export interface EmbeddingsBody {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number; readonly cost?: number };
}

/** The vectors of an answer, each in the place that its index names. */
export const vectorsIn = ({ data }: EmbeddingsBody): readonly (readonly number[] | string)[] =>
  data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding);

/** The numbers that base64 of float32, little-endian, says. */
export function decoded(vector: readonly number[] | string): readonly number[] {
  if (typeof vector !== 'string') return vector;
  const bytes = Buffer.from(vector, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}

/** POSTs JSON, and resolves to status and body. */
export async function postJson(
  url: string,
  body: object,
  { fetch = globalThis.fetch, key = 'none' }: { readonly fetch?: typeof globalThis.fetch; readonly key?: string } = {},
): Promise<{ readonly status: number; readonly body: unknown; readonly text: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as unknown };
}

/** The body of a rerank answer in the common form. */
export interface RanksBody {
  readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number; readonly cost?: number };
}

/** The sigmoid, by which a raw score becomes one between 0 and 1. */
export const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score));
