import type { AnswerEvent, Fault, HeldVector, ReadStep, ResponseReader, VectorsEvent } from '../../../core/event.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { createVectorCutter, type CutVector } from './cut-vectors.ts';
import { errorInside, plainModelName } from './read-answer.ts';
import { isJsonType } from './read-field.ts';
import { usageFrom, usageOf } from './read-usage.ts';
import { readBase64, readNumbers, type VectorForm, type VectorReading } from './vector-text.ts';

export interface VectorsOptions extends VectorForm {
  readonly inputs: number;
  /** Number of the first one in the request. */
  readonly first: number;
}

/** Most bytes of one number in an answer: engines write up to 25 digits, and blanks. */
const maxNumberBytes = 48;
/** Most bytes of an answer beside its vectors, for each input and in all. */
const maxBytesOfItem = 1024;
const maxBytesBeside = 1024 * 1024;

const malformed = (detail: string, vectorLength?: number): Fault => ({ kind: 'malformed', detail, vectorLength });

/** Returns the reader of an embeddings answer, or undefined for a content type that cannot hold one. */
export function readVectorsAs(contentType: string, options: VectorsOptions): ResponseReader | undefined {
  return isJsonType(contentType) ? createVectorsReader(options) : undefined;
}

/**
 * Reads an embeddings answer of the public wire format, in numbers or base64, whatever was asked for. Each vector is checked and
 * made a `HeldVector` as soon as it has come, and its engine's text is released. All events
 * come at the end. A vector that is no vector of this model fails the answer: null in its place, a wrong length, a value that is not
 * finite, only zeros. So do a missing vector, one that comes twice, and one that nobody asked for.
 */
export function createVectorsReader(options: VectorsOptions): ResponseReader {
  const { inputs, dimensions } = options;
  const cutter = createVectorCutter();
  const vectors: HeldVector[] = [];
  const maxBytes = inputs * (dimensions * maxNumberBytes + maxBytesOfItem) + maxBytesBeside;
  let bytesSeen = 0;
  let fault: Fault | undefined;
  let model: string | undefined;

  function take(cut: CutVector): void {
    const reading: VectorReading =
      vectors.length < inputs ? readVector(cut, options) : { defect: 'more vectors than inputs' };
    if ('defect' in reading) fault ??= malformed(reading.defect, reading.length);
    else vectors.push(reading);
  }

  return {
    push: (bytes) => {
      bytesSeen += bytes.length;
      if (bytesSeen > maxBytes) fault ??= { kind: 'too-large', detail: 'answer over the limit' };
      if (fault === undefined) for (const cut of cutter.push(bytes)) take(cut);
      return { events: [], state: fault ?? 'open' };
    },
    end: (): ReadStep => {
      const rest = cutter.rest();
      if (fault !== undefined) return { events: [], state: fault };
      if (rest === undefined) return { events: [], state: { kind: 'truncated', detail: 'ended inside of a vector' } };
      const answer = parseJson(rest);
      const placed = errorInside(answer) ?? placeVectors(answer, vectors, options);
      if ('kind' in placed) return { events: [], state: placed };
      if (isObject(answer)) model = plainModelName(answer['model']);
      return {
        events: [placed, ...usageEvents(answer), { type: 'finish', choice: 0, reason: 'stop' }],
        state: 'complete',
      };
    },
    model: () => model,
  };
}

function readVector({ form, text }: CutVector, options: VectorForm): VectorReading {
  if (form === 'numbers') return readNumbers(text, options);
  if (!text.includes('\\')) return readBase64(text, options);
  const plain = parseJson(`"${text}"`);
  return typeof plain === 'string'
    ? readBase64(plain.replaceAll(/\s/g, ''), options)
    : { defect: 'not base64 of float32' };
}

/** Puts the vectors into the order of the inputs. An engine may answer in another order, and then numbers its vectors. */
function placeVectors(answer: unknown, vectors: readonly HeldVector[], options: VectorsOptions): VectorsEvent | Fault {
  const { inputs, first } = options;
  const data = isObject(answer) ? answer['data'] : undefined;
  if (!Array.isArray(data)) return malformed('no list of vectors');
  if (data.length !== inputs) return malformed(`${data.length} vectors for ${inputs} inputs`);
  const items: readonly unknown[] = data;
  const placed: HeldVector[] = [];
  const taken = new Set<unknown>();
  for (const [at, item] of items.entries()) {
    const { index = at, embedding } = isObject(item) ? item : {};
    if (typeof index !== 'number' || !(index in items)) return malformed('a vector with an index out of range');
    const vector = typeof embedding === 'number' ? vectors[embedding] : undefined;
    if (vector === undefined) return malformed('an input without a vector');
    if (index in placed || taken.has(embedding)) return malformed('a vector that comes twice');
    placed[index] = vector;
    taken.add(embedding);
  }
  return { type: 'vectors', choice: 0, first, vectors: placed };
}

/** An engine counts only prompts here. Some have the number in `total_tokens` alone. */
function usageEvents(answer: unknown): readonly AnswerEvent[] {
  const { promptTokens = 0, completionTokens = 0 } = (isObject(answer) ? usageOf(answer) : undefined) ?? {};
  const usage = usageFrom({ promptTokens: promptTokens + completionTokens, completionTokens: 0 });
  return usage === undefined || usage.promptTokens === 0 ? [] : [{ type: 'usage', usage }];
}
