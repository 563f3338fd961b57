import { describe, expect, it } from 'vitest';
import {
  besideVerdict,
  compareVectors,
  cosineOf,
  figure,
  normOf,
  type ProbeVectors,
  type VectorVerdict,
} from './compare-vectors.ts';

const dimensions = 64;
const bounds = { dimensions, minSimilarity: 0.999 };

/** A vector with the norm 1, the same for the same seed. */
function vectorOf(seed: number, length = dimensions): Float32Array {
  const raw = Float32Array.from({ length }, (_, index) => Math.sin(seed * 101 + index * 7.3 + seed * index));
  const norm = normOf(raw);
  return raw.map((value) => value / norm);
}

const reference: ProbeVectors = [1, 2, 3, 4].map((seed) => vectorOf(seed));

/** The reference, turned so that the texts have these cosines, up to the rounding of float32. */
function turned(cosines: readonly number[], scale = 1): ProbeVectors {
  return reference.map((vector, index) => {
    const cosine = cosines[index] ?? 1;
    const other = vectorOf(index + 50);
    const along = cosineOf(other, vector);
    const across = other.map((value, at) => value - along * (vector[at] ?? 0));
    const norm = normOf(across);
    const sine = Math.sqrt(1 - cosine * cosine);
    return vector.map((value, at) => scale * (cosine * value + (sine * (across[at] ?? 0)) / norm));
  });
}

const explanationOf = (verdict: VectorVerdict): string => (verdict.kind === 'differs' ? verdict.explanation : 'same');

it('computes norm and cosine', () => {
  expect(normOf(Float32Array.of(3, 4))).toBe(5);
  expect(cosineOf(Float32Array.of(1, 0), Float32Array.of(0, 2))).toBe(0);
  expect(cosineOf(Float32Array.of(1, 2), Float32Array.of(-2, -4))).toBeCloseTo(-1, 12);
  expect(cosineOf(Float32Array.of(0, 0), Float32Array.of(1, 2))).toBe(0);
});

it('takes vectors that are equal up to rounding for the same, also with the strictest bound', () => {
  expect(compareVectors(reference, reference, { dimensions, minSimilarity: 1 })).toMatchObject({ kind: 'same' });
  const verdict = compareVectors(turned([0.9995, 0.9999, 0.9992, 1]), reference, bounds);
  expect(verdict).toMatchObject({ kind: 'same', lowest: expect.closeTo(0.9992, 5) });
});

it('finds one text below the bound, and names it', () => {
  const verdict = compareVectors(turned([0.9999, 0.9999, 0.9999, 0.9979]), reference, bounds);
  expect(verdict).toMatchObject({ kind: 'differs', lowest: expect.closeTo(0.9979, 5) });
  expect(verdict.kind === 'differs' && verdict.finding).toMatch(
    /^lowest cosine 0\.997[89] \(code text\), at least 0\.999/,
  );
});

it('lets a twin in another precision pass where the operator accepts it', () => {
  const twin = turned([0.993, 0.994, 0.992, 0.995]);
  expect(explanationOf(compareVectors(twin, reference, bounds))).toMatch(/quantisation/);
  expect(compareVectors(twin, reference, { dimensions, minSimilarity: 0.99 }).kind).toBe('same');
});

describe('the usual explanation', () => {
  it.each<[string, readonly number[], RegExp]>([
    ['only the long text', [1, 0.9, 1, 1], /window/],
    ['only another script and code', [1, 1, 0.7, 0.95], /tokenizer/],
    ['all slightly', [0.98, 0.985, 0.97, 0.98], /quantisation/],
    ['the short text most', [0.8, 0.97, 0.9, 0.9], /prefix/],
    ['the long text most', [0.8, 0.5, 0.7, 0.6], /pooling/],
    ['nothing in common', [0.1, -0.05, 0.02, 0.2], /another model/],
  ])('of cosines that differ in %s', (_name, cosines, expected) => {
    expect(explanationOf(compareVectors(turned(cosines), reference, bounds))).toMatch(expected);
  });

  it('of the same direction with another norm is the normalisation', () => {
    const verdict = compareVectors(turned([1, 1, 1, 1], 14), reference, bounds);
    expect(verdict).toMatchObject({ kind: 'differs', lowest: expect.closeTo(1, 6) });
    expect(explanationOf(verdict)).toMatch(/normalises/);
    expect(verdict.kind === 'differs' && verdict.finding).toMatch(/norm (14\.0000|13\.9999) where the reference has/);
  });
});

it('a norm may be as far away as the cosine lets the direction be', () => {
  expect(compareVectors(turned([1, 1, 1, 1], 1.04), reference, bounds).kind).toBe('same');
  expect(compareVectors(turned([1, 1, 1, 1], 1.05), reference, bounds).kind).toBe('differs');
  expect(compareVectors(turned([1, 1, 1, 1], 1.12), reference, { dimensions, minSimilarity: 0.99 }).kind).toBe('same');
});

it('refuses vectors of another length than the declared one, and those of a reference of another length', () => {
  const short = [1, 2, 3, 4].map((seed) => vectorOf(seed, 32));
  const verdict = compareVectors(short, reference, bounds);
  expect(verdict).toMatchObject({ kind: 'differs', lowest: undefined, texts: [] });
  expect(verdict.kind === 'differs' && verdict.finding).toBe(
    'vectors of 32 numbers, spec.embedding.dimensions declares 64',
  );
  const changed = compareVectors(short, reference, { ...bounds, dimensions: 32 });
  expect(changed.kind === 'differs' && changed.finding).toBe('vectors of 32 numbers, the reference has 64');
});

it('never writes a cosine below the bound as the bound', () => {
  expect(figure(0.99899)).toBe('0.9989');
  expect(figure(1)).toBe('1.0000');
});

it('finds an engine whose vector of a text depends on the others of the call', () => {
  const [alone = new Float32Array(), other = alone] = reference;
  expect(besideVerdict({ beside: alone, alone }, bounds)).toBeUndefined();
  expect(besideVerdict({ beside: other, alone }, bounds)).toMatchObject({
    ...{ kind: 'differs', finding: expect.stringMatching(/^cosine -?0\.\d{4} between its own vectors of one text/) },
    explanation: expect.stringMatching(/--parallel 1/),
  });
});
