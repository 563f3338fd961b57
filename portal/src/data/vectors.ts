import { type PlaygroundCall, sendToGateway } from './chat.ts';

interface Vectors {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[];
}

/** The vectors of texts, in their order. Throws the gateway's error. */
export async function vectorsOf(
  { model, texts }: { readonly model: string; readonly texts: readonly string[] },
  how: PlaygroundCall,
): Promise<readonly (readonly number[])[]> {
  const response = await sendToGateway('embeddings', { model, input: texts }, how);
  const { data } = (await response.json()) as Vectors;
  return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

/** The cosine of the angle between two vectors: 1 where they point the same way, 0 where one of them is zero. */
export function cosineOf(a: readonly number[], b: readonly number[]): number {
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}
