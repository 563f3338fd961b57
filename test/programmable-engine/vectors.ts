import { fingerprint, seededChance, seedOf } from './chance.ts';
import type { Behaviour } from './behaviour.ts';

/** What decides a vector besides its text. */
export type VectorManners = Pick<
  Behaviour,
  'dimensions' | 'pooling' | 'vectorModel' | 'vectorNoise' | 'vectorScale' | 'identify'
>;

/** Length of a vector of an engine that was told nothing. */
export const usualDimensions = 64;

/**
 * The vector of a text: the same from every programmable engine. Texts that share words point the same way, a text in
 * other words does not. `length`: so many of its first values, normalised anew, as models do that were trained for it.
 */
export function vectorOf(text: string, manners: VectorManners = {}, length?: number): Float32Array {
  const dimensions = manners.dimensions ?? usualDimensions;
  const model = manners.vectorModel ?? '';
  const values = new Float64Array(dimensions);
  const pooled = pooledText(text, manners.pooling);
  addWords(values, pooled, model);
  scaleTo(values, 1);
  // Engines give no zeros: every place has something of the whole text.
  addNoise(values, seedOf(fingerprint([pooled]), `text ${model}`), 0.25);
  scaleTo(values, 1);
  if (manners.vectorNoise !== undefined) {
    addNoise(values, seedOf(fingerprint([text]), 'quantised'), manners.vectorNoise / 1000);
  }
  const kept = values.subarray(0, Math.min(length ?? dimensions, dimensions));
  scaleTo(kept, manners.vectorScale ?? 1);
  return Float32Array.from(kept);
}

/** The cosine of two vectors of one length. */
export function cosineOf(left: Float32Array, right: Float32Array): number {
  let dot = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (const [at, one] of left.entries()) {
    const other = right[at] ?? 0;
    dot += one * other;
    leftSquares += one * one;
    rightSquares += other * other;
  }
  return dot / Math.sqrt(leftSquares * rightSquares);
}

/** The vector's bytes as engines send them: float32, little-endian. */
export function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * 4);
  return bytes.toString('base64');
}

function pooledText(text: string, pooling: Behaviour['pooling']): string {
  if (pooling === undefined || pooling === 'mean') return text;
  const words = text.trim().split(/\s+/u);
  return (pooling === 'cls' ? words[0] : words.at(-1)) ?? '';
}

/** Each word adds to the four places that its hash names. One pass over the characters: inputs have millions of them. */
function addWords(values: Float64Array, text: string, model: string): void {
  const basis = seedOf(model, 'words');
  let hash = basis;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? space : text.charCodeAt(at);
    if (code > space) {
      hash = Math.imul(hash ^ (code >= 0x41 && code <= 0x5a ? code + 0x20 : code), 0x01_00_01_93);
    } else if (hash !== basis) {
      addWord(values, hash);
      hash = basis;
    }
  }
}

const space = 0x20;
const placesPerWord = 4;

function addWord(values: Float64Array, hash: number): void {
  let mixed = hash;
  for (let place = 0; place < placesPerWord; place += 1) {
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c_1b_3c_6d) ^ (place + 1);
    const index = (mixed >>> 1) % values.length;
    values[index] = (values[index] ?? 0) + ((mixed & 1) === 0 ? 1 : -1);
  }
}

/** Adds a vector of this length that points anywhere. */
function addNoise(values: Float64Array, seed: number, length: number): void {
  const chance = seededChance(seed);
  const noise = new Float64Array(values.length);
  for (let at = 0; at < noise.length; at += 1) noise[at] = chance() - 0.5;
  scaleTo(noise, length);
  for (let at = 0; at < noise.length; at += 1) values[at] = (values[at] ?? 0) + (noise[at] ?? 0);
}

function scaleTo(values: Float64Array, length: number): void {
  let squares = 0;
  for (const value of values) squares += value * value;
  if (squares === 0) return;
  const factor = length / Math.sqrt(squares);
  for (let at = 0; at < values.length; at += 1) values[at] = (values[at] ?? 0) * factor;
}
