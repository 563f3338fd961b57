import { fetch } from 'undici';
import { reasonOf } from '../../core/call-service.ts';
import { compareVectors, type ProbeVectors, type VectorVerdict } from '../../gateway/core/compare-vectors.ts';
import { probeTexts } from '../../gateway/core/vector-probe.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { createVectorsReader } from '../../gateway/dialects/engine/read-vectors.ts';
import { taskPaths } from '../../gateway/engines/engine.ts';
import { engines } from '../../gateway/engines/engines.ts';
import { probeAnswer, vectorsIn, whyFailed, writeProbe } from '../../gateway/request/ask-vectors.ts';
import type { EngineAddress } from './ask-engine.ts';

/** The vectors that an engine makes of the probe texts. `failed`: why there are none, on one line. */
export type ProbedVectors =
  | { readonly kind: 'vectors'; readonly dimensions: number; readonly vectors: ProbeVectors }
  | { readonly kind: 'failed'; readonly why: string };

/** Longest wait for an answer: a large model on a processor loads first. */
const timeoutMs = 120_000;
/** Most bytes of an answer: four vectors of 65,536 numbers. */
const maxBytes = 16 * 1024 * 1024;

/** Embeds the probe texts on an engine as Weir does: the same bytes, the same reader, one text in a call. Never rejects. */
export async function probeVectors(address: EngineAddress, contextLength = Infinity): Promise<ProbedVectors> {
  const vectors: Float32Array[] = [];
  for (const text of probeTexts({ contextLength })) {
    const found = await embed(address, text);
    if (found.kind === 'failed') return found;
    vectors.push(...found.vectors);
  }
  const [{ length: dimensions } = { length: 0 }] = vectors;
  return { kind: 'vectors', dimensions, vectors };
}

async function embed(address: EngineAddress, text: string): Promise<ProbedVectors> {
  const { engine, base, model, headers, query = '', dispatcher } = address;
  if (engines[engine].embeddings === undefined)
    return { kind: 'failed', why: `Weir has no embeddings support for the engine ${engine}` };
  const target = { engine, upstreamModel: model, parameters: [] };
  try {
    const response = await fetch(`${base}${taskPaths.embedding}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...Object.fromEntries(headers) },
      body: writeProbe([text], target),
      redirect: 'manual',
      ...(dispatcher && { dispatcher }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.status !== 200) {
      const reading = chatErrors.read(response.status, new TextDecoder().decode(bytes));
      return { kind: 'failed', why: whyFailed({ kind: 'status', status: response.status, detail: '', ...reading }) };
    }
    if (bytes.length > maxBytes) return { kind: 'failed', why: 'the answer is too large' };
    return readVector(bytes);
  } catch (error) {
    return { kind: 'failed', why: reasonOf(error) };
  }
}

/** Reads an answer with one vector, whose length is not known before. */
function readVector(bytes: Uint8Array, dimensions = 1): ProbedVectors {
  const reader = createVectorsReader(probeAnswer(1, dimensions));
  const pushed = reader.push(bytes);
  const { events, state } = pushed.state === 'open' ? reader.end() : pushed;
  if (state === 'complete') return { kind: 'vectors', dimensions, vectors: vectorsIn(events, dimensions) };
  if (state === 'open') return { kind: 'failed', why: 'the answer has no end' };
  const { vectorLength } = state;
  if (vectorLength !== undefined && vectorLength !== dimensions) return readVector(bytes, vectorLength);
  return { kind: 'failed', why: `the answer is not a vector: ${state.detail}` };
}

/** Vectors beside those of the reference. The lengths of the reference are the declared ones. */
export function compareProbed(
  probed: Extract<ProbedVectors, { readonly kind: 'vectors' }>,
  reference: Extract<ProbedVectors, { readonly kind: 'vectors' }>,
  minSimilarity: number,
): VectorVerdict {
  return compareVectors(probed.vectors, reference.vectors, { dimensions: reference.dimensions, minSimilarity });
}
