import * as z from 'zod';
import { tokensOf } from './tokens.ts';

/** Length of every vector. */
const dimensions = 256;

const body = z.object({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string()).min(1)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** An embeddings request, as far as this engine reads it. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly inputs: readonly string[];
  readonly base64: boolean;
}

/** Reads a request's body. A string is the sentence that says why it is refused. */
export function readEmbeddingRequest(raw: unknown): EmbeddingRequest | string {
  const { data, error } = body.safeParse(raw);
  if (data === undefined) return z.prettifyError(error);
  return { model: data.model, inputs: [data.input].flat(), base64: data.encoding_format === 'base64' };
}

/** The answer: a vector for each input, in their order, and the tokens of all. */
export function embeddingsOf({ model, inputs, base64 }: EmbeddingRequest): object {
  const prompt_tokens = inputs.reduce((sum, text) => sum + tokensOf(text).length, 0);
  const data = inputs.map((text, index) => {
    const vector = vectorOf(text);
    return { object: 'embedding', index, embedding: base64 ? base64Of(vector) : [...vector] };
  });
  return { object: 'list', data, model, usage: { prompt_tokens, total_tokens: prompt_tokens } };
}

/**
 * A toy: each word adds to the place that its hash names, a short one less, and the sum has the length 1. Texts that share words
 * are near, and nothing is known of what words mean. A model in its place gives other vectors, so an index has to be made anew.
 */
function vectorOf(text: string): Float32Array {
  const sums = new Float64Array(dimensions);
  // No text, however empty, has a vector of zeros, which is near to nothing.
  sums[0] = 0.01;
  const words = Map.groupBy(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [], (word) => word);
  for (const [word, { length: times }] of words) {
    const hash = hashOf(word);
    const place = (hash >>> 1) % dimensions;
    const weight = Math.sqrt(times) * (word.length > 3 ? 1 : 0.3);
    sums[place] = (sums[place] ?? 0) + ((hash & 1) === 0 ? weight : -weight);
  }
  const length = Math.hypot(...sums);
  return Float32Array.from(sums, (sum) => sum / length);
}

/** FNV-1a, and a last step that lets every bit of the hash depend on every byte. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Float32, little-endian, as clients decode it. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, at) => bytes.writeFloatLE(value, at * 4));
  return bytes.toString('base64');
}
